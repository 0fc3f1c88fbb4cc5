//! The gateway's own responses.

use gatebench_model::policy::MockPolicy;
use gatebench_net::http1::{BodyLength, write_response_head};

/// The response that asks a client to send the body of its request (RFC 9110 15.2.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The status and the text of the gateway's response to a message that it refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) words: String,
    /// The methods that the path supports, if the request used another one (RFC 9110 15.5.6).
    pub(crate) allow: Option<String>,
}

impl Refusal {
    /// `words` is the reason, without the prefix `gateway: ` and the line end.
    pub(crate) fn new(status: u16, words: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            status,
            words: format!("gateway: {}\n", words.into()),
            allow: None,
        })
    }
}

/// A rate limit's verdict on one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) is_allowed: bool,
    pub(crate) has_headers: bool,
    pub(crate) limit: u64,
    /// The number of further requests that would be allowed right now.
    pub(crate) remaining: u64,
    /// Seconds until the whole limit is available again, rounded up.
    pub(crate) reset_s: u64,
    /// Seconds until the next request is allowed, rounded up; at least 1.
    pub(crate) retry_after_s: u64,
}

/// The parts of the gateway's own responses that policies configure.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The challenges of the `basic_auth` policies, indexed by [`Challenge::Basic`].
    pub(crate) realms: Vec<String>,
    /// The responses of the `mock` policies, indexed by [`Choice::Mock`].
    pub(crate) mocks: Vec<MockPolicy>,
}

/// Selects one of the gateway's own responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Error(u16),
    /// A response whose status and text a [`Refusal`] supplies.
    Refused,
    /// TLS with the upstream failed, for example because of its certificate: 502.
    UpstreamTls,
    Unauthorized(Challenge),
    Mock(usize),
    Metrics,
}

/// The authentication that a client must use (RFC 9110 11.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    ApiKey,
    Basic(usize),
    Bearer,
    /// A token was sent but is not valid (RFC 6750 3).
    InvalidToken,
}

impl Challenge {
    fn value(self, pages: &Pages) -> &str {
        match self {
            Self::ApiKey => "ApiKey",
            Self::Basic(realm) => &pages.realms[realm],
            Self::Bearer => "Bearer",
            Self::InvalidToken => "Bearer error=\"invalid_token\"",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Local<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
    /// A 401 response must state how to authenticate (RFC 9110 15.5.2).
    pub(crate) challenge: Option<&'a str>,
    /// A 405 response must state the allowed methods (RFC 9110 15.5.6).
    pub(crate) allow: Option<&'a str>,
    /// See [`Notes::standing`](crate::policy::Notes::standing).
    pub(crate) standing: Option<Standing>,
}

impl<'a> Local<'a> {
    /// Returns the chosen response. `metrics` is the body for [`Choice::Metrics`].
    pub(crate) fn new(
        choice: Choice,
        standing: Option<Standing>,
        pages: &'a Pages,
        metrics: &'a str,
    ) -> Self {
        let local = match choice {
            Choice::Error(status) => Self::error(status),
            // `with_refusal` supplies the status and the text.
            Choice::Refused => Self::error(400),
            Choice::UpstreamTls => Self {
                body: b"gateway: the upstream's certificate was rejected, or TLS with the upstream failed\n",
                ..Self::error(502)
            },
            Choice::Unauthorized(challenge) => Self {
                challenge: Some(challenge.value(pages)),
                ..Self::error(401)
            },
            Choice::Mock(number) => {
                let mock = &pages.mocks[number];
                Self {
                    content_type: &mock.content_type,
                    body: mock.body.as_bytes(),
                    ..Self::error(mock.status)
                }
            }
            Choice::Metrics => Self {
                content_type: "text/plain; version=0.0.4; charset=utf-8",
                body: metrics.as_bytes(),
                ..Self::error(200)
            },
        };
        Self { standing, ..local }
    }

    pub(crate) fn with_refusal(self, refusal: &'a Refusal) -> Self {
        Self {
            status: refusal.status,
            body: refusal.words.as_bytes(),
            allow: refusal.allow.as_deref(),
            ..self
        }
    }

    pub(crate) fn error(status: u16) -> Self {
        Self {
            status,
            content_type: "text/plain",
            body: words(status).as_bytes(),
            ..Self::default()
        }
    }
}

/// The properties of the request and its client that determine how a response is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Toward {
    pub(crate) is_head: bool,
    pub(crate) is_http10: bool,
    pub(crate) keep_alive: bool,
}

impl Toward {
    /// Returns the Connection field that must be sent to this client (RFC 9112 9.3).
    pub(crate) fn connection(self) -> Option<(&'static str, &'static [u8])> {
        match (self.keep_alive, self.is_http10) {
            (false, _) => Some(("Connection", b"close")),
            (true, true) => Some(("Connection", b"keep-alive")),
            (true, false) => None,
        }
    }
}

pub(crate) fn write_local(out: &mut Vec<u8>, local: Local<'_>, toward: Toward) {
    let fields = [
        Some(("Content-Type", local.content_type.as_bytes())),
        local
            .challenge
            .map(|value| ("WWW-Authenticate", value.as_bytes())),
        local.allow.map(|value| ("Allow", value.as_bytes())),
        toward.connection(),
    ];
    let rate = local.standing.map(RateFields::new);
    let fields = fields.into_iter().flatten();
    let fields = fields.chain(rate.iter().flat_map(RateFields::fields));
    let has_body = !matches!(local.status, 204 | 304);
    let length = match has_body {
        true => BodyLength::Length(local.body.len() as u64),
        false => BodyLength::None,
    };
    write_response_head(out, local.status, fields, length);
    if has_body && !toward.is_head {
        out.extend_from_slice(local.body);
    }
}

fn words(status: u16) -> &'static str {
    match status {
        401 => "gateway: the request has no valid credentials\n",
        404 => "gateway: no route matches the path\n",
        408 => "gateway: the request was not complete in time\n",
        413 => "gateway: the request's body is too large\n",
        429 => "gateway: too many requests\n",
        502 => {
            "gateway: the upstream cannot be reached, closed the connection too early, or sent an invalid response\n"
        }
        503 => "gateway: requests are counted in Redis, which is not available\n",
        504 => "gateway: the upstream did not respond in time\n",
        _ => "gateway: the request is refused\n",
    }
}

/// The response fields that report a rate limit: `Retry-After` if the request was refused and, with
/// `has_headers`, `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`
/// (draft-ietf-httpapi-ratelimit-headers-03).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateFields {
    standing: Standing,
    digits: [Digits; 4],
}

impl RateFields {
    pub(crate) fn new(standing: Standing) -> Self {
        let numbers = [
            standing.limit,
            standing.remaining,
            standing.reset_s,
            standing.retry_after_s,
        ];
        Self {
            standing,
            digits: numbers.map(Digits::new),
        }
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let Standing {
            has_headers,
            is_allowed,
            ..
        } = self.standing;
        let names = [
            has_headers.then_some("RateLimit-Limit"),
            has_headers.then_some("RateLimit-Remaining"),
            has_headers.then_some("RateLimit-Reset"),
            (!is_allowed).then_some("Retry-After"),
        ];
        let fields = names.into_iter().zip(&self.digits);
        fields.filter_map(|(name, digits)| Some((name?, digits.bytes())))
    }
}

/// The decimal digits of a number, without allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    pub(crate) fn new(mut number: u64) -> Self {
        let mut bytes = [0; 20];
        let mut start = bytes.len();
        loop {
            start -= 1;
            bytes[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Self { bytes, start };
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(local: Local<'_>, toward: Toward) -> String {
        let mut out = Vec::new();
        write_local(&mut out, local, toward);
        String::from_utf8(out).unwrap()
    }

    const PLAIN: Toward = Toward {
        is_head: false,
        is_http10: false,
        keep_alive: true,
    };

    fn hello(status: u16, body: &str) -> Local<'_> {
        Local {
            body: body.as_bytes(),
            ..Local::error(status)
        }
    }

    #[test]
    fn responses_fit_their_client() {
        let mock = hello(200, "Hello");
        assert_eq!(
            written(mock, PLAIN),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nHello"
        );
        let to_head = Toward {
            is_head: true,
            ..PLAIN
        };
        assert!(written(mock, to_head).ends_with("Length: 5\r\n\r\n"));
        let old = Toward {
            is_http10: true,
            ..PLAIN
        };
        assert!(written(mock, old).contains("Connection: keep-alive\r\n"));
        let last = Toward {
            keep_alive: false,
            ..PLAIN
        };
        assert!(written(Local::error(401), last).contains("Connection: close\r\n"));
        assert!(!written(hello(204, ""), PLAIN).contains("Content-Length"));
    }

    #[test]
    fn a_refusal_states_a_remedy() {
        let challenged = Local {
            challenge: Some("Basic realm=\"x\""),
            ..Local::error(401)
        };
        assert!(written(challenged, PLAIN).contains("WWW-Authenticate: Basic realm=\"x\"\r\n"));
        let standing = Standing {
            is_allowed: false,
            has_headers: true,
            limit: 10,
            remaining: 0,
            reset_s: 3600,
            retry_after_s: 360,
        };
        let limited = |standing| Local {
            standing: Some(standing),
            ..Local::error(429)
        };
        let all = "RateLimit-Limit: 10\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 3600\r\nRetry-After: 360\r\n";
        assert!(written(limited(standing), PLAIN).contains(all));
        let silent = Standing {
            has_headers: false,
            ..standing
        };
        let text = written(limited(silent), PLAIN);
        assert!(text.contains("Retry-After: 360\r\n") && !text.contains("RateLimit"));
    }
}
