//! What is spoken below the requests of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS and HTTP/2 on both sides of the gateway; plain HTTP/1.1 where nothing is said. The certificate
/// is made for the trial, and shown by the gateway and by the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Whether clients speak TLS to the gateway.
    #[serde(default)]
    pub tls: bool,
    /// Clients speak HTTP/2 (over TLS, by ALPN), with up to so many requests at a time on a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub http2_streams: Option<u32>,
    /// Whether the gateway speaks TLS to the upstream, whose certificate it verifies.
    #[serde(default)]
    pub upstream_tls: bool,
}

impl Transport {
    /// The words that a gateway folder may have under `transport`.
    pub const KINDS: [&str; 3] = ["tls", "http2", "upstream_tls"];

    /// Whether it is plain HTTP/1.1 on both sides.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// What a gateway must have for it, by the words of [`Transport::KINDS`].
    pub(crate) fn needs(self) -> impl Iterator<Item = &'static str> {
        let wanted = [self.tls, self.http2_streams.is_some(), self.upstream_tls];
        let words = Self::KINDS.into_iter().zip(wanted);
        words.filter_map(|(word, is_wanted)| is_wanted.then_some(word))
    }
}
