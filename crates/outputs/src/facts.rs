//! The facts about a load, in chronological order.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::Arc;

use crate::distribution::Distribution;

/// A load, such as a phase of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// The number of the load, which is unique in the run.
    pub id: u64,
    /// The labels of all its series, such as `testid`, `scenario` and the user's tags.
    pub labels: BTreeMap<String, String>,
    /// Additional labels of the series about its requests: `method`, `name`, `url` and `proto`.
    pub request: BTreeMap<&'static str, String>,
    /// The descriptions of its checks.
    pub checks: Vec<String>,
    /// True if every response is subject to every check, for example because the scenario has only
    /// one request.
    pub checks_apply_to_all: bool,
    pub connections_max: u64,
}

/// A fact about a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub load: Arc<Load>,
    /// The start of the period that the fact describes, in nanoseconds since 1970.
    pub from_ns: u64,
    /// The end of the period that the fact describes, in nanoseconds since 1970.
    pub to_ns: u64,
    pub what: What,
}

impl Fact {
    /// Reports whether a later fact can be merged into this one: both describe the requests, the
    /// usage or the gateway's own metrics of the same load. A fact without a count of the gateway's
    /// requests does not take part, because the counts are relative to the first one.
    pub fn merges_with(&self, later: &Self) -> bool {
        let is_periodic = match &self.what {
            What::Second(_) | What::Usage(_) => true,
            What::Own(own) => own.requests.is_some(),
            What::Judged(_) | What::Ended | What::Closed => false,
        };
        let is_same_kind = discriminant(&self.what) == discriminant(&later.what);
        is_periodic && is_same_kind && self.load.id == later.load.id
    }

    /// Extends this fact by the period of a later one, for which [`Fact::merges_with`] is true.
    /// Counts and times are added. A state, such as memory in use, is replaced by the later one.
    pub fn merge(&mut self, later: Self) {
        self.to_ns = self.to_ns.max(later.to_ns);
        match (&mut self.what, later.what) {
            (What::Second(sum), What::Second(more)) => sum.add(more),
            (What::Usage(sum), What::Usage(more)) => sum.add(more),
            (What::Own(own), What::Own(later)) => {
                own.requests = later.requests.or(own.requests);
                own.pools.extend(later.pools);
            }
            _ => unreachable!("facts of different kinds are not merged"),
        }
    }
}

/// The content of a fact, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Second(Second),
    Usage(Usage),
    Own(Own),
    Judged(Validity),
    Ended,
    /// The last fact about the load, at the end of the trial.
    Closed,
}

/// The requests in one second, or in the drain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// The index of the second in the measurement.
    pub number: u32,
    pub statuses: BTreeMap<u16, u64>,
    /// The number of responses whose status is unknown, by class. Only runs that earlier versions
    /// recorded have such responses.
    pub classes: BTreeMap<Class, u64>,
    /// The number of requests without a response, by the kind of error, such as `timeout`.
    pub errors: BTreeMap<String, u64>,
    /// The number of arrivals whose request was never sent.
    pub dropped: u64,
    /// The number of responses that failed a check, by the index of the check.
    pub checks_failed: BTreeMap<usize, u64>,
    /// The number of responses that failed at least one check.
    pub failing_checks: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// The number of requests in flight at the end of the second.
    pub busy: u64,
    /// The CPU time of the load generator's workers.
    pub engine_cpu_ns: u64,
    /// The times of the requests, by kind of time and outcome.
    pub times: BTreeMap<(Trend, Class), Distribution>,
}

impl Second {
    pub fn responses(&self) -> u64 {
        self.statuses.values().chain(self.classes.values()).sum()
    }

    /// The number of requests that ended.
    pub fn requests(&self) -> u64 {
        self.responses() + self.errors.values().sum::<u64>()
    }

    fn add(&mut self, later: Self) {
        // Without `..`, a new field does not compile until it is added here.
        let Self {
            number,
            statuses,
            classes,
            errors,
            dropped,
            checks_failed,
            failing_checks,
            bytes_sent,
            bytes_received,
            busy,
            engine_cpu_ns,
            times,
        } = later;
        self.number = number;
        self.busy = busy;
        add_counts(&mut self.statuses, statuses);
        add_counts(&mut self.classes, classes);
        add_counts(&mut self.errors, errors);
        add_counts(&mut self.checks_failed, checks_failed);
        self.dropped += dropped;
        self.failing_checks += failing_checks;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.engine_cpu_ns += engine_cpu_ns;
        for (key, times) in times {
            self.times.entry(key).or_default().add(&times);
        }
    }
}

fn add_counts<K: Ord>(sum: &mut BTreeMap<K, u64>, more: BTreeMap<K, u64>) {
    for (key, count) in more {
        *sum.entry(key).or_default() += count;
    }
}

/// Resource usage in one second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    pub second: u32,
    /// The usage by component: `gateway`, `engine` or `upstream`.
    pub components: BTreeMap<&'static str, Component>,
}

impl Usage {
    fn add(&mut self, later: Self) {
        self.second = later.second;
        for (name, later) in later.components {
            let component = self.components.entry(name).or_default();
            let before_ns = component.cpu_ns.unwrap_or(0);
            *component = Component {
                cpu_ns: later.cpu_ns.map(|it| before_ns + it),
                ..later
            };
        }
    }
}

/// A component's resource usage in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// The CPU time; `None` for the load generator, whose CPU time is in [`Second`].
    pub cpu_ns: Option<u64>,
    /// The anonymous resident memory at the end of the second.
    pub memory_bytes: u64,
    /// The number of open file descriptors at the end of the second.
    pub descriptors: u64,
}

/// The gateway's own metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// The number of requests that the gateway has counted since it started.
    pub requests: Option<u64>,
    /// The sizes of the gateway's pools, by name. The name of each pool ends with the unit of its
    /// size.
    pub pools: BTreeMap<String, u64>,
}

/// The verdict on a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validity {
    pub is_valid: bool,
    /// The names of the gates that make the load limited or invalid, as in report.json.
    pub reasons: Vec<String>,
}

/// A time that is measured for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trend {
    /// From the intended send to the last byte of the response.
    Response,
    /// From the actual send to the last byte of the response.
    Service,
    /// From the intended send to the actual send.
    Lateness,
    /// The service time minus the time that the upstream had the request.
    Added,
    /// From the actual send until the upstream has the request.
    RequestHalf,
    /// From when the upstream sends the response until its last byte arrives.
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

/// The outcome of a request: the class of the response's status, or a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Success,
    Redirection,
    ClientError,
    ServerError,
    /// No response, or a status outside of 200 to 599.
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

    pub(crate) fn of(status: u16) -> Self {
        match status / 100 {
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::ClientError,
            5 => Self::ServerError,
            _ => Self::Failed,
        }
    }

    /// Reports whether k6 regards responses of this class as expected.
    pub(crate) fn is_expected(self) -> bool {
        matches!(self, Self::Success | Self::Redirection)
    }
}
