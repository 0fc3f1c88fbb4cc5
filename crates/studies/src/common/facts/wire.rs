//! Facts about the traffic on the wire that are counted or tested.

use serde::Serialize;

/// The facts about the traffic of a variant in a scenario, over all completed trials.
#[derive(Clone, Debug, Serialize)]
pub struct WireFindings {
    pub variant: String,
    pub is_direct: bool,
    /// The facts, in the order of [`WireName`].
    pub facts: Vec<WireFact>,
}

/// A fact that was counted or tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WireFact {
    pub name: WireName,
    /// The value as a number, if it is one.
    pub value: Option<f64>,
    pub text: String,
    /// True if this value differs from the most common value among the gateways, or from the
    /// expected one.
    pub differs: bool,
}

/// A fact that is counted or tested on the wire; reports show the facts in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WireName {
    /// The HTTP versions that at least 1 % of the requests to the upstream use.
    UpstreamVersion,
    RequestsPerUpstreamConnection,
    RequestsPerClientConnection,
    /// Mean number of header fields per request at the upstream.
    Fields,
    /// Mean number of bytes in a request's head at the upstream.
    HeadBytes,
    /// Mean number of bytes in a request's body at the upstream.
    BodyBytes,
    /// Requests whose nonce the upstream had already received.
    Retries,
    /// Share of trials in which the upstream received the first part of a request before the client
    /// sent the last byte.
    PassesRequests,
    /// Share of trials in which the client received the first part of a response before the
    /// upstream sent the last byte.
    PassesResponses,
    /// Bytes that the gateway writes to files per response.
    WrittenBytes,
    /// The largest number of the gateway's threads that each used at least a twentieth of the CPU
    /// time of all its threads in a load.
    Workers,
    /// The smallest number of routes that responded in a parity test.
    Routes,
}

impl WireName {
    pub fn title(self) -> &'static str {
        match self {
            Self::UpstreamVersion => "HTTP version to the upstream",
            Self::RequestsPerUpstreamConnection => "requests per upstream connection",
            Self::RequestsPerClientConnection => "requests per client connection",
            Self::Fields => "header fields to the upstream",
            Self::HeadBytes => "header bytes to the upstream",
            Self::BodyBytes => "body bytes to the upstream",
            Self::Retries => "requests sent again",
            Self::PassesRequests => "requests forwarded before they are complete",
            Self::PassesResponses => "responses forwarded before they are complete",
            Self::WrittenBytes => "written to files per response",
            Self::Workers => "threads that did the work",
            Self::Routes => "routes that respond",
        }
    }
}
