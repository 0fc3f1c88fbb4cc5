//! What is measured per request, and how a request can end.

/// What is measured per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// From the intended send to the last byte of the answer.
    Response,
    /// From the actual send to the last byte of the answer.
    Service,
    /// From the intended to the actual send.
    Lateness,
    /// Service time without the time the upstream had the request.
    Added,
    /// From the actual send to the upstream having the request; only on one host.
    RequestHalf,
    /// From the upstream sending to the last byte of the answer; only on one host.
    ResponseHalf,
}

impl Metric {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Response,
        Self::Service,
        Self::Lateness,
        Self::Added,
        Self::RequestHalf,
        Self::ResponseHalf,
    ];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Lateness => "lateness",
            Self::Added => "added",
            Self::RequestHalf => "request_half",
            Self::ResponseHalf => "response_half",
        }
    }
}

/// How a request ended.
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
    /// No answer: timed out, reset, or not HTTP. Recorded with the time until that was known.
    Failed,
}

impl Class {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Success,
        Self::Redirection,
        Self::ClientError,
        Self::ServerError,
        Self::Failed,
    ];

    /// The class of a status.
    pub fn of(status: u16) -> Self {
        match status / 100 {
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::ClientError,
            5 => Self::ServerError,
            _ => Self::Failed,
        }
    }

    /// The word in files.
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

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// No connection could be made.
    Connect,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the answer was complete.
    ClosedEarly,
    /// No complete answer within the timeout, or none until the end of the drain.
    Timeout,
    /// What came back is not what the protocol allows.
    Protocol,
    /// TLS failed: a certificate that is not accepted, an alert, a record that cannot be read.
    Tls,
}

impl ErrorKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Connect,
        Self::Reset,
        Self::ClosedEarly,
        Self::Timeout,
        Self::Protocol,
        Self::Tls,
    ];

    /// The word in files.
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
