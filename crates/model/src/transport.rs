//! The protocols that carry the requests of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS and HTTP/2 toward clients, and TLS toward the upstream [default: plain HTTP/1.1]. The
/// gateway and the upstream present a certificate that is created for the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transport {
    /// True if clients connect to the gateway with TLS.
    pub tls: bool,
    /// If set, clients use HTTP/2 (over TLS, by ALPN), with up to this many concurrent requests on
    /// each connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub http2_streams: Option<u32>,
    /// True if the gateway connects to the upstream with TLS and verifies the upstream's
    /// certificate.
    pub upstream_tls: bool,
}

impl Transport {
    /// The names of transports in a gateway's features.
    pub const KINDS: [&str; 3] = ["tls", "http2", "upstream_tls"];

    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the requirements of the transport, with the names in [`Transport::KINDS`].
    pub(crate) fn needs(self) -> impl Iterator<Item = &'static str> {
        let wanted = [self.tls, self.http2_streams.is_some(), self.upstream_tls];
        let words = Self::KINDS.into_iter().zip(wanted);
        words.filter_map(|(word, is_wanted)| is_wanted.then_some(word))
    }
}
