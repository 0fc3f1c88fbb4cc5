//! The policies of a route, ready for the loop: an ordered chain that judges requests, and what is done to
//! messages that pass. A route without policies has empty chains and pays for nothing.

mod basic;
mod compile;
pub(crate) mod consumers;
mod headers;
pub(crate) mod json;
pub(crate) mod jwt;
pub(crate) mod query;
pub(crate) mod rate;
mod saxon;
pub(crate) mod soap;
pub(crate) mod xslt;

use std::sync::Arc;

use gatebench_net::http1::{Framing, Head};
use gatebench_xml::Transform;

use crate::local::{Challenge, Choice};
use crate::openapi::{Check, Contract, Refusal};
use crate::redis::RedisLimit;
pub(crate) use compile::Compiler;
use consumers::Consumers;
pub(crate) use headers::HeaderProgram;
use json::Plan;
use rate::{RateLimiter, Standing};
use soap::Soap;

/// What is wrong with a policy: its place below it, and words.
pub(crate) type Mistake = (String, String);

/// The policies of one route.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// What may refuse or answer a request, in order.
    stages: Vec<Stage>,
    pub(crate) request_headers: HeaderProgram,
    pub(crate) response_headers: HeaderProgram,
    /// The header that tells the upstream who calls.
    consumer_header: Option<String>,
    pub(crate) request_json: Vec<Plan>,
    pub(crate) response_json: Vec<Plan>,
    pub(crate) response_xslt: Vec<Transform>,
    pub(crate) soap: Option<Soap>,
    pub(crate) openapi: Option<Arc<Contract>>,
    /// Asked when nothing else is against a request, since that may take time.
    pub(crate) redis: Option<RedisLimit>,
}

/// One policy that may refuse or answer a request.
#[derive(Debug)]
enum Stage {
    ApiKey {
        header: String,
    },
    ApiKeyQuery {
        name: String,
    },
    BasicAuth(Challenge),
    Jwt(jwt::Verifier),
    RateLimit(RateLimiter),
    SizeLimit(u64),
    Openapi(Arc<Contract>),
    /// By its number.
    Mock(usize),
}

/// What a chain learns of a request on the way.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) consumer: Option<u32>,
    /// What the last rate limit said, for the answer's head.
    pub(crate) standing: Option<Standing>,
    /// Bytes that the body may have, where there is a limit.
    pub(crate) body_max: Option<u64>,
    /// What the rest of the request, and its answer, are held against.
    pub(crate) operation: Option<Check>,
    /// Why it is refused, where that needs words of its own.
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl Chain {
    /// Goes on with what rate limits had counted by the chain that the route had before.
    pub(crate) fn inherit(&mut self, before: &Self, consumers: &Consumers, theirs: &Consumers) {
        let now = self.stages.iter_mut().filter_map(|stage| match stage {
            Stage::RateLimit(limiter) => Some(limiter),
            _ => None,
        });
        let then = before.stages.iter().filter_map(|stage| match stage {
            Stage::RateLimit(limiter) => Some(limiter),
            _ => None,
        });
        for (now, then) in now.zip(then) {
            now.inherit(then, consumers, theirs);
        }
    }

    /// Judges a request by its head, as the client sent it: an answer, or nothing against it.
    pub(crate) fn judge(
        &self,
        head: &Head<'_>,
        consumers: &Consumers,
        caches: &mut [jwt::Cache],
        now_ns: u64,
        notes: &mut Notes,
    ) -> Option<Choice> {
        self.stages
            .iter()
            .find_map(|stage| stage.judge(head, consumers, caches, now_ns, notes))
    }

    /// What tells the upstream who calls, as a field.
    pub(crate) fn consumer_field<'a>(
        &'a self,
        notes: &Notes,
        consumers: &'a Consumers,
    ) -> Option<(&'a str, &'a [u8])> {
        let name = self.consumer_header.as_deref()?;
        Some((name, consumers.name(notes.consumer?)?.as_bytes()))
    }

    /// Whether a request must be whole before it goes on.
    pub(crate) fn collects(&self, head: &Head<'_>, notes: &Notes) -> bool {
        let contract = self.openapi.as_ref().zip(notes.operation);
        contract.is_some_and(|(contract, check)| contract.wants_body(check))
            || self.soap.as_ref().is_some_and(Soap::has_request)
            || !self.request_json.is_empty()
                && !matches!(head.framing(), Framing::None | Framing::Length(0))
                && Form::of(head) == Form::Json
    }

    /// Whether an answer must be whole before it goes on.
    pub(crate) fn collects_answer(&self, head: &Head<'_>) -> bool {
        match head.framing() {
            Framing::None => false,
            _ if self.processes_answers() => true,
            Framing::Length(0) => false,
            _ => match Form::of(head) {
                Form::Json => !self.response_json.is_empty(),
                Form::Xml => !self.response_xslt.is_empty(),
                Form::Other => false,
            },
        }
    }

    /// Whether answers may get another body.
    pub(crate) fn replaces_answers(&self) -> bool {
        !(self.response_json.is_empty() && self.response_xslt.is_empty())
            || self.processes_answers()
    }

    /// Whether answers go along a SOAP/XML chain, which knows gzip and no other coding.
    pub(crate) fn processes_answers(&self) -> bool {
        self.soap.as_ref().is_some_and(Soap::has_response)
    }
}

impl Stage {
    fn judge(
        &self,
        head: &Head<'_>,
        consumers: &Consumers,
        caches: &mut [jwt::Cache],
        now_ns: u64,
        notes: &mut Notes,
    ) -> Option<Choice> {
        match self {
            Self::ApiKey { header } => {
                let found = only(head, header).and_then(|key| consumers.keys.find(key));
                admit(found, Challenge::ApiKey, notes)
            }
            Self::ApiKeyQuery { name } => {
                let found = query::consumer(head.target(), name, &consumers.keys);
                admit(found, Challenge::ApiKey, notes)
            }
            Self::BasicAuth(challenge) => {
                let value = only(head, "Authorization");
                let found = value.and_then(|value| basic::consumer(value, &consumers.credentials));
                admit(found, *challenge, notes)
            }
            Self::Jwt(verifier) => {
                let value = only(head, "Authorization");
                let token = value.and_then(|value| basic::after_scheme(value, "bearer"));
                let Some(token) = token else {
                    return Some(Choice::Unauthorized(Challenge::Bearer));
                };
                let cache = &mut caches[verifier.cache];
                match verifier.judge(token, consumers, cache, now_ns) {
                    Some(consumer) => {
                        notes.consumer = consumer;
                        None
                    }
                    None => Some(Choice::Unauthorized(Challenge::InvalidToken)),
                }
            }
            Self::RateLimit(limiter) => {
                let value = limiter.header().and_then(|name| head.field(name));
                let standing = limiter.count(notes.consumer, value, now_ns);
                notes.standing = Some(standing);
                (!standing.is_allowed).then_some(Choice::Error(429))
            }
            Self::SizeLimit(max_bytes) => {
                notes.body_max = Some(notes.body_max.map_or(*max_bytes, |max| max.min(*max_bytes)));
                match head.framing() {
                    Framing::Length(length) if length > *max_bytes => Some(Choice::Error(413)),
                    _ => None,
                }
            }
            Self::Openapi(contract) => match contract.judge(head) {
                Ok(check) => {
                    notes.operation = check;
                    None
                }
                Err(refusal) => {
                    notes.refusal = Some(refusal);
                    Some(Choice::Refused)
                }
            },
            Self::Mock(number) => Some(Choice::Mock(*number)),
        }
    }
}

/// The value of a field, if it is there once: of two credentials the upstream could believe the other one.
fn only<'a>(head: &Head<'a>, name: &str) -> Option<&'a [u8]> {
    let mut fields = head.fields();
    let mut values = fields
        .by_ref()
        .filter(|field| field.name.eq_ignore_ascii_case(name));
    let first = values.next()?;
    values.next().is_none().then_some(first.value)
}

fn admit(found: Option<u32>, challenge: Challenge, notes: &mut Notes) -> Option<Choice> {
    if found.is_none() {
        return Some(Choice::Unauthorized(challenge));
    }
    notes.consumer = found;
    None
}

/// What a body is as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// Its type is `application/json` or ends with `+json` (RFC 6839), and it is not compressed.
    Json,
    /// Its type is `text/xml` or `application/xml`, and it is not compressed.
    Xml,
    /// All else.
    #[default]
    Other,
}

impl Form {
    /// By the head of a message.
    pub(crate) fn of(head: &Head<'_>) -> Self {
        let Some(value) = head.field("Content-Type") else {
            return Self::Other;
        };
        let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
        let essence = essence.trim_ascii_end();
        let is = |word: &[u8]| essence.eq_ignore_ascii_case(word);
        let suffix = essence.last_chunk::<5>();
        let form = if is(b"application/json")
            || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"))
        {
            Self::Json
        } else if is(b"text/xml") || is(b"application/xml") {
            Self::Xml
        } else {
            Self::Other
        };
        let coding = head.field("Content-Encoding");
        if coding.is_none_or(|coding| coding.eq_ignore_ascii_case(b"identity")) {
            form
        } else {
            Self::Other
        }
    }
}
