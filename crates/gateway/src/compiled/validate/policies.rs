//! Checks the meaning of policies that are correct in form.

use gatebench_config::HumanDuration;
use gatebench_model::policy::{
    HeaderEdits, MockPolicy, Policy, RateLimitKey, RedisRateLimitPolicy,
};

use super::Mistakes;
use crate::message::is_token;

/// Fields that no edit may change, because they control where a message ends, who receives it, or
/// how its connection is used.
const FRAMING: [&str; 7] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
    "expect",
];

fn is_framing(name: &str) -> bool {
    FRAMING.iter().any(|field| name.eq_ignore_ascii_case(field))
}

fn framing(name: &str) -> String {
    format!("the field \"{name}\" controls the message's framing, recipient or connection")
}

impl Mistakes {
    /// Adds the mistakes in a policy that compiling it does not find.
    pub(super) fn policy(&mut self, at: &str, policy: &Policy) {
        match policy {
            Policy::ApiKey(api_key) => self.header(format!("{at}/header"), &api_key.header),
            Policy::ConsumerHeader(policy) => self.consumer_header(at, &policy.header),
            Policy::ApiKeyQuery(api_key) if api_key.name.is_empty() => {
                let remedy = "write a name such as \"api_key\"";
                self.add(format!("{at}/name"), "the parameter has no name", remedy);
            }
            Policy::RateLimit(limit) => {
                self.rate_limit(at, limit.window, limit.per, limit.header.as_deref());
            }
            Policy::RedisRateLimit(limit) => {
                self.rate_limit(at, limit.window, limit.per, limit.header.as_deref());
                self.redis(at, limit);
            }
            Policy::RequestHeaders(edits) | Policy::ResponseHeaders(edits) => {
                self.header_edits(at, edits);
            }
            Policy::Mock(mock) => self.mock(at, mock),
            _ => {}
        }
    }

    fn header(&mut self, at: String, name: &str) {
        if !is_token(name) {
            let message = format!("the field name \"{name}\" is invalid");
            self.add(at, message, "write a name such as \"X-Api-Key\"");
        }
    }

    fn consumer_header(&mut self, at: &str, name: &str) {
        let at = format!("{at}/header");
        if is_framing(name) {
            self.add(&at, framing(name), "write a name such as \"X-Consumer\"");
        }
        self.header(at, name);
    }

    fn redis(&mut self, at: &str, limit: &RedisRateLimitPolicy) {
        for (name, span) in [("interval", limit.interval), ("timeout", limit.timeout)] {
            if span.as_nanos() == 0 {
                let remedy = "write a duration such as \"100ms\"";
                self.add(format!("{at}/{name}"), "this time is zero", remedy);
            }
        }
    }

    fn rate_limit(
        &mut self,
        at: &str,
        window: HumanDuration,
        per: RateLimitKey,
        header: Option<&str>,
    ) {
        if window.as_nanos() == 0 {
            let remedy = "write a duration such as \"1m\"";
            self.add(format!("{at}/window"), "the window is zero", remedy);
        }
        match (per, header) {
            (RateLimitKey::Header, Some(name)) => self.header(format!("{at}/header"), name),
            (RateLimitKey::Header, None) => self.add(
                at,
                "`per: header` does not name the header",
                "add a header, as in \"header\": \"X-Client\"",
            ),
            (_, Some(_)) => self.add(
                format!("{at}/header"),
                "the limit does not count by this header",
                "remove it, or write \"per\": \"header\"",
            ),
            (_, None) => {}
        }
    }

    fn header_edits(&mut self, at: &str, edits: &HeaderEdits) {
        let names = edits.remove.iter().chain(edits.set.keys());
        let renamed = edits.rename.iter().flat_map(|(from, to)| [from, to]);
        for name in names.chain(edits.add.keys()).chain(renamed) {
            if !is_token(name) {
                let message = format!("the field name \"{name}\" is invalid");
                self.add(at, message, "write a name such as \"X-Mine\"");
            } else if is_framing(name) {
                self.add(at, framing(name), "remove the edit");
            }
        }
        for value in edits.set.values().chain(edits.add.values()) {
            let is_value = |byte: u8| matches!(byte, b'\t' | b' '..=b'~');
            if value.trim() != value || !value.bytes().all(is_value) {
                let message = format!("the value {value:?} is not allowed in a field");
                self.add(
                    at,
                    message,
                    "write visible ASCII on one line, without spaces at its ends",
                );
            }
        }
    }

    fn mock(&mut self, at: &str, mock: &MockPolicy) {
        if !(200..=599).contains(&mock.status) {
            let message = "the status is not between 200 and 599";
            self.add(
                format!("{at}/status"),
                message,
                "write a status such as 200",
            );
        }
        let content_type = &mock.content_type;
        if content_type.is_empty() || content_type.bytes().any(|byte| byte.is_ascii_control()) {
            let at = format!("{at}/content_type");
            let remedy = "write a type such as \"text/plain\"";
            self.add(at, "this is not a content type", remedy);
        }
        if matches!(mock.status, 204 | 304) && !mock.body.is_empty() {
            let message = format!("a response with status {} has no body", mock.status);
            self.add(format!("{at}/body"), message, "write \"\"");
        }
    }
}
