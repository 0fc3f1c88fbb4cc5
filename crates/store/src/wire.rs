//! How requests went over the wire: counted, not believed.

use serde::{Deserialize, Serialize};

/// What was counted of one load, warm-up and drain included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireFacts {
    /// Answers that the engine got.
    pub answers: u64,
    /// Connections that the engine opened.
    pub client_connections: u64,
    /// What the upstream counted; none where it is not ours.
    #[serde(default)]
    pub upstream: Option<UpstreamWire>,
    /// What was seen of the gateway's processes; none for the direct variant and where they cannot
    /// be seen.
    #[serde(default)]
    pub gateway: Option<GatewayWire>,
}

/// What the upstream counted of one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamWire {
    /// Requests that began.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests over HTTP/1.0.
    pub http10: u64,
    /// Requests over HTTP/2.
    pub http2: u64,
    /// Field lines of all requests.
    pub fields: u64,
    /// Bytes of all heads.
    pub head_bytes: u64,
    /// Bytes of all bodies, without their framing.
    pub body_bytes: u64,
}

/// What was seen of the gateway's processes around one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayWire {
    /// By how much the files that it writes have grown.
    pub written_bytes: u64,
    /// Threads after the load.
    pub threads: u32,
    /// Threads that did at least a twentieth of the work.
    pub threads_busy: u32,
}

/// Whether messages are passed on as they come, tried once before the load with a request of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffering {
    /// Whether the upstream sees a request before its last byte is sent; none where the load's requests
    /// have no body, and where it could not be tried.
    #[serde(default)]
    pub passes_requests: Option<bool>,
    /// Whether the client sees an answer's body before its last byte is sent; none where the answer has
    /// no body of the upstream's, and where it could not be tried.
    #[serde(default)]
    pub passes_answers: Option<bool>,
}
