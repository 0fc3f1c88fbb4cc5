//! What was equal between gateways on the wire and what was not: counted, not believed.

use serde::Serialize;

/// How the requests of a scenario went over the wire at a variant, over all completed trials.
#[derive(Clone, Debug, Serialize)]
pub struct WireFindings {
    /// Label of the variant.
    pub variant: String,
    /// Whether nothing stands between engine and upstream.
    #[serde(rename = "is_floor")]
    pub is_direct: bool,
    /// What was counted or tried, in the order of [`WireName::ALL`]; what could not be is absent.
    pub facts: Vec<WireFact>,
}

/// One thing that was counted or tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WireFact {
    /// What.
    pub name: WireName,
    /// As a number, where it is one.
    pub value: Option<f64>,
    /// In words.
    pub text: String,
    /// Whether it is not as at the other gateways, or not as it should be.
    pub differs: bool,
}

/// What is counted or tried on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WireName {
    /// The version of HTTP in which the upstream is asked.
    UpstreamVersion,
    /// Requests for each connection to the upstream.
    RequestsPerUpstreamConnection,
    /// Requests for each connection of the client.
    RequestsPerClientConnection,
    /// Field lines of a request at the upstream.
    Fields,
    /// Bytes of a request's head at the upstream.
    HeadBytes,
    /// Bytes of a request's body at the upstream.
    BodyBytes,
    /// Requests that the upstream saw more than once.
    Retries,
    /// Whether the upstream sees a request before its last byte is sent.
    PassesRequests,
    /// Whether the client sees an answer before its last byte is sent.
    PassesAnswers,
    /// Bytes that the gateway writes to files, for each request.
    WrittenBytes,
    /// Threads that did the work.
    Workers,
    /// Routes that answer.
    Routes,
}

impl WireName {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 12] = [
        Self::UpstreamVersion,
        Self::RequestsPerUpstreamConnection,
        Self::RequestsPerClientConnection,
        Self::Fields,
        Self::HeadBytes,
        Self::BodyBytes,
        Self::Retries,
        Self::PassesRequests,
        Self::PassesAnswers,
        Self::WrittenBytes,
        Self::Workers,
        Self::Routes,
    ];

    /// The name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::UpstreamVersion => "HTTP version to the upstream",
            Self::RequestsPerUpstreamConnection => "requests per upstream connection",
            Self::RequestsPerClientConnection => "requests per client connection",
            Self::Fields => "header fields to the upstream",
            Self::HeadBytes => "header bytes to the upstream",
            Self::BodyBytes => "body bytes to the upstream",
            Self::Retries => "requests sent again",
            Self::PassesRequests => "requests passed on before they are whole",
            Self::PassesAnswers => "answers passed on before they are whole",
            Self::WrittenBytes => "written to files per request",
            Self::Workers => "threads that did the work",
            Self::Routes => "routes that answer",
        }
    }
}
