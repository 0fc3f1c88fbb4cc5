//! Counts of the requests on the wire.

use serde::{Deserialize, Serialize};

/// The counts of one load, including warm-up and drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireFacts {
    /// Responses that the engine received.
    #[serde(rename = "answers")]
    pub responses: u64,
    /// Connections that the engine opened.
    pub client_connections: u64,
    /// The upstream's counts; none if the upstream is not gatebench's own.
    pub upstream: Option<UpstreamWire>,
    /// Observations of the gateway's processes; none for the direct variant and if the processes
    /// are not visible.
    pub gateway: Option<GatewayWire>,
}

/// The upstream's counts of one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamWire {
    /// Requests that it began to receive.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests over HTTP/1.0.
    pub http10: u64,
    /// Requests over HTTP/2.
    pub http2: u64,
    /// Number of field lines of all requests.
    pub fields: u64,
    /// Size of all heads in bytes.
    pub head_bytes: u64,
    /// Size of all bodies in bytes, without their framing.
    pub body_bytes: u64,
}

/// Observations of the gateway's processes before and after one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayWire {
    /// Growth of the files that it writes, in bytes.
    pub written_bytes: u64,
    /// Number of threads after the load.
    pub threads: u32,
    /// Number of threads that did at least a twentieth of the work.
    pub threads_busy: u32,
}

/// How the gateway buffers messages, tested once before the load with one of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffering {
    /// True if the upstream sees a request before its last byte is sent; none if the load's
    /// requests have no body or the test failed.
    pub passes_requests: Option<bool>,
    /// True if the client sees a response's body before its last byte is sent; none if the response
    /// has no body from the upstream or the test failed.
    #[serde(rename = "passes_answers")]
    pub passes_responses: Option<bool>,
}
