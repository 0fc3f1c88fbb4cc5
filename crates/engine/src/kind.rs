//! The metrics of a request, and the ways a request can end.

use serde::{Deserialize, Serialize};

/// A duration that is recorded for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    /// From the intended send to the last byte of the response.
    Response,
    /// From the actual send to the last byte of the response.
    Service,
    /// From the intended send to the actual send.
    Lateness,
    /// Service time minus the time during which the upstream had the request.
    Added,
    /// From the actual send until the upstream has the request. Recorded if the difference between
    /// the clocks of the load generator and the upstream is known.
    RequestHalf,
    /// From the upstream's send to the last byte of the response. Recorded under the same condition
    /// as [`Self::RequestHalf`].
    ResponseHalf,
    /// From the actual send to the first byte of the response.
    Waiting,
    /// From the first to the last byte of the response; 0 if both arrived in one read.
    Receiving,
}

impl Metric {
    /// All metrics, in the order of their discriminants.
    pub const ALL: [Self; 8] = [
        Self::Response,
        Self::Service,
        Self::Lateness,
        Self::Added,
        Self::RequestHalf,
        Self::ResponseHalf,
        Self::Waiting,
        Self::Receiving,
    ];

    /// Returns the name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Lateness => "lateness",
            Self::Added => "added",
            Self::RequestHalf => "request_half",
            Self::ResponseHalf => "response_half",
            Self::Waiting => "waiting",
            Self::Receiving => "receiving",
        }
    }
}

/// The way a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// 200 to 299.
    Success,
    /// 300 to 399.
    Redirection,
    /// 400 to 499.
    ClientError,
    /// 500 to 599.
    ServerError,
    /// No complete response, for the reason in [`ErrorKind`], or a status of no other class. The
    /// recorded time of a request without a response ends when the failure is detected.
    Failed,
}

impl Class {
    /// All classes, in the order of their discriminants.
    pub const ALL: [Self; 5] = [
        Self::Success,
        Self::Redirection,
        Self::ClientError,
        Self::ServerError,
        Self::Failed,
    ];

    /// Returns the class of a status; [`Self::Failed`] if the status is not between 200 and 599.
    pub fn of(status: u16) -> Self {
        match status / 100 {
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::ClientError,
            5 => Self::ServerError,
            _ => Self::Failed,
        }
    }

    /// Returns the name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::Failed => "failed",
        }
    }
}

/// The reason why there was no complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ErrorKind {
    /// No connection could be made.
    Connect,
    /// The connection or the HTTP/2 stream was reset.
    Reset,
    /// The connection was closed before the response was complete.
    ClosedEarly,
    /// No complete response arrived within the timeout or before the end of the drain.
    Timeout,
    /// The server violated HTTP/1.1 or HTTP/2.
    Protocol,
    /// TLS failed, for example because of a rejected certificate, an alert or an unreadable record.
    Tls,
}

impl ErrorKind {
    /// All kinds of errors, in the order of their discriminants.
    pub const ALL: [Self; 6] = [
        Self::Connect,
        Self::Reset,
        Self::ClosedEarly,
        Self::Timeout,
        Self::Protocol,
        Self::Tls,
    ];

    /// Returns the name used in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed_early",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Tls => "tls",
        }
    }
}
