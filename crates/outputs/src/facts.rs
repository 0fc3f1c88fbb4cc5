//! The facts about a load, in chronological order.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::distribution::Distribution;

/// One load: a phase of a trial. All its series have the same labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Number of the load, unique in the run.
    pub id: u64,
    /// Labels of all its series, by name: `testid`, `scenario`, and the user's tags.
    pub labels: BTreeMap<String, String>,
    /// Labels of the series about its requests: `method`, `name`, `url`, `proto`.
    pub request: BTreeMap<&'static str, String>,
    /// The descriptions of its checks.
    pub checks: Vec<String>,
    /// True if every response is subject to every check, as in a load of one request.
    pub checks_apply_to_all: bool,
    /// Maximum number of connections.
    pub connections_max: u64,
}

/// A fact about a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The subject of the fact.
    pub load: Arc<Load>,
    /// Start of the period that the fact describes, in nanoseconds since 1970.
    pub from_ns: u64,
    /// End of the period that the fact describes.
    pub to_ns: u64,
    /// The fact.
    pub what: What,
}

/// The kind of a fact with its content.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The requests in one second, or in the drain.
    Second(Second),
    /// Resource usage in one second.
    Usage(Usage),
    /// The gateway's own metrics.
    Own(Own),
    /// The load was judged.
    Judged(Validity),
    /// The load is over.
    Ended,
    /// The trial is over; no further fact follows.
    Closed,
}

/// The requests in one second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// Number of the second in the measurement, counted from 0.
    pub number: u32,
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Responses whose status is unknown, by class; only in runs of earlier versions.
    pub classes: BTreeMap<Class, u64>,
    /// Requests without a response, by kind: `timeout`, `reset`.
    pub errors: BTreeMap<String, u64>,
    /// Arrivals that were never sent.
    pub dropped: u64,
    /// Responses that failed a check, by the number of the check.
    pub checks_failed: BTreeMap<usize, u64>,
    /// Responses that failed at least one check.
    pub failing_checks: u64,
    /// Bytes of requests.
    pub bytes_sent: u64,
    /// Bytes of responses.
    pub bytes_received: u64,
    /// Requests in flight at the end of the second.
    pub busy: u64,
    /// CPU time of the load generator's workers.
    pub engine_cpu_ns: u64,
    /// The times of its requests.
    pub times: BTreeMap<(Trend, Class), Distribution>,
}

impl Second {
    /// The number of requests that received a response.
    pub fn responses(&self) -> u64 {
        self.statuses.values().chain(self.classes.values()).sum()
    }

    /// The number of requests that ended.
    pub fn requests(&self) -> u64 {
        self.responses() + self.errors.values().sum::<u64>()
    }
}

/// Resource usage in one second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Number of the second in the measurement, counted from 0.
    pub second: u32,
    /// The usage by component: `gateway`, `engine`, `upstream`.
    pub components: BTreeMap<&'static str, Component>,
}

/// A component's resource usage in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// CPU time; none for the load generator, whose CPU time is in [`Second`].
    pub cpu_ns: Option<u64>,
    /// Anonymous resident memory at the end.
    pub memory_bytes: u64,
    /// Open file descriptors at the end.
    pub descriptors: u64,
}

/// The gateway's own metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// Its count of requests since its start.
    pub requests: Option<u64>,
    /// Sizes of its pools, by a name that ends with the unit.
    pub pools: BTreeMap<String, u64>,
}

/// The verdict on a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validity {
    /// True unless something makes the load invalid.
    pub is_valid: bool,
    /// The reasons why the load is limited, each as one word.
    pub reasons: Vec<String>,
}

/// A time of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trend {
    /// From the intended send to the last byte of the response.
    Response,
    /// From the actual send to the last byte of the response.
    Service,
    /// From the intended send to the actual send.
    Lateness,
    /// Service time minus the time during which the upstream had the request.
    Added,
    /// From the actual send until the upstream has the request.
    RequestHalf,
    /// From the upstream's send to the last byte of the response.
    ResponseHalf,
    /// From the actual send to the first byte of the response.
    Waiting,
    /// From the first to the last byte of the response.
    Receiving,
}

impl Trend {
    /// All trends in the order of their declaration, with their names in the files of a run.
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Response, "response"),
        (Self::Service, "service"),
        (Self::Lateness, "lateness"),
        (Self::Added, "added"),
        (Self::RequestHalf, "request_half"),
        (Self::ResponseHalf, "response_half"),
        (Self::Waiting, "waiting"),
        (Self::Receiving, "receiving"),
    ];

    /// The trend with this name in the files of a run.
    pub fn named(word: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, name)| *name == word);
        found.map(|(trend, _)| *trend)
    }

    pub(crate) fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}

/// The outcomes of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// 200 to 299.
    Success,
    /// 300 to 399.
    Redirection,
    /// 400 to 499.
    ClientError,
    /// 500 to 599.
    ServerError,
    /// No response.
    Failed,
}

impl Class {
    /// All classes in the order of their declaration, with their names in the files of a run.
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Success, "2xx"),
        (Self::Redirection, "3xx"),
        (Self::ClientError, "4xx"),
        (Self::ServerError, "5xx"),
        (Self::Failed, "failed"),
    ];

    /// The class with this name in the files of a run.
    pub fn named(word: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, name)| *name == word);
        found.map(|(class, _)| *class)
    }

    pub(crate) fn as_str(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The class of a status.
    pub(crate) fn of(status: u16) -> Self {
        match status / 100 {
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::ClientError,
            5 => Self::ServerError,
            _ => Self::Failed,
        }
    }

    /// Reports whether k6 considers responses of this class expected.
    pub(crate) fn is_expected(self) -> bool {
        matches!(self, Self::Success | Self::Redirection)
    }
}
