//! The policies of a route, ready for the loop: an ordered chain that judges requests, and what is done to
//! messages that pass. A route without policies has empty chains and pays for nothing.

mod basic;
pub(crate) mod consumers;
mod headers;
pub(crate) mod json;
pub(crate) mod jwt;
pub(crate) mod query;
pub(crate) mod rate;
mod saxon;
pub(crate) mod soap;

use std::sync::Arc;

use gatebench_model::policy::{MockPolicy, OpenapiPolicy, Policy};
use gatebench_net::http1::{Framing, Head};

use crate::local::{Challenge, Choice};
use crate::openapi::{Check, Contract, Refusal};
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
    pub(crate) soap: Option<Soap>,
    pub(crate) openapi: Option<Arc<Contract>>,
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
    consumer: Option<u32>,
    /// What the last rate limit said, for the answer's head.
    pub(crate) standing: Option<Standing>,
    /// Bytes that the body may have, where there is a limit.
    pub(crate) body_max: Option<u64>,
    /// What the rest of the request, and its answer, are held against.
    pub(crate) operation: Option<Check>,
    /// Why it is refused, where that needs words of its own.
    pub(crate) refusal: Option<Box<Refusal>>,
}

/// Compiles chains; numbers the caches that each worker needs.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    /// Caches of verified tokens.
    pub(crate) caches: usize,
    /// Only mistakes are looked for: definitions, which take long, are not compiled.
    pub(crate) is_check: bool,
    /// The names of the upstreams.
    pub(crate) upstreams: Vec<String>,
    /// What the route at hand takes off the path.
    pub(crate) stripped: Option<String>,
    /// How many consumers there are.
    pub(crate) consumers: usize,
    /// Challenges of `basic_auth`, by the number that its stages have.
    pub(crate) realms: Vec<String>,
    /// Answers of `mock`, by the number that its stages have.
    pub(crate) mocks: Vec<MockPolicy>,
}

impl Compiler {
    /// The chain of a route, or everything that is wrong with its policies, each with its place below
    /// the list of policies.
    pub(crate) fn chain(&mut self, policies: &[Policy]) -> Result<Chain, Vec<Mistake>> {
        let mut chain = Chain::default();
        let mut mistakes = Vec::new();
        for (at, policy) in policies.iter().enumerate() {
            if let Err(wrong) = self.add(at, policy, &mut chain) {
                let kind = policy.kind();
                let placed = wrong
                    .into_iter()
                    .map(|(place, message)| (format!("/{at}/{kind}{place}"), message));
                mistakes.extend(placed);
            }
        }
        if chain.soap.is_some()
            && !(chain.request_json.is_empty() && chain.response_json.is_empty())
        {
            let words =
                "a route whose bodies are XML's to edit cannot edit JSON too; use a stylesheet";
            mistakes.push((String::new(), words.into()));
        }
        if !chain.response_json.is_empty() {
            // A compressed answer could not be edited.
            chain.request_headers.remove("Accept-Encoding");
        }
        if mistakes.is_empty() {
            Ok(chain)
        } else {
            Err(mistakes)
        }
    }

    fn add(&mut self, at: usize, policy: &Policy, chain: &mut Chain) -> Result<(), Vec<Mistake>> {
        let stage = match policy {
            Policy::ApiKey(api_key) => Stage::ApiKey {
                header: api_key.header.clone(),
            },
            Policy::ApiKeyQuery(api_key) => Stage::ApiKeyQuery {
                name: api_key.name.clone(),
            },
            Policy::ConsumerHeader(policy) => {
                chain.request_headers.remove(&policy.header);
                chain.consumer_header = Some(policy.header.clone());
                return Ok(());
            }
            Policy::BasicAuth(basic) => {
                self.realms.push(basic_challenge(&basic.realm)?);
                Stage::BasicAuth(Challenge::Basic(self.realms.len() - 1))
            }
            Policy::Jwt(jwt) => {
                let verifier = jwt::Verifier::new(jwt, self.caches)?;
                self.caches += 1;
                Stage::Jwt(verifier)
            }
            Policy::RateLimit(limit) => Stage::RateLimit(RateLimiter::new(limit, self.consumers)),
            Policy::RequestSizeLimit(limit) => Stage::SizeLimit(limit.max_bytes),
            Policy::Mock(mock) => {
                self.mocks.push(mock.clone());
                Stage::Mock(self.mocks.len() - 1)
            }
            Policy::Openapi(policy) => {
                if chain.openapi.is_some() {
                    let words = "a second one on the same route; keep one";
                    return Err(vec![(String::new(), words.into())]);
                }
                let contract = Arc::new(self.contract(policy)?);
                if contract.are_responses {
                    // A compressed answer could not be looked into.
                    chain.request_headers.remove("Accept-Encoding");
                }
                chain.openapi = Some(Arc::clone(&contract));
                Stage::Openapi(contract)
            }
            Policy::RequestHeaders(edits) => {
                chain.request_headers.then(edits);
                return Ok(());
            }
            Policy::ResponseHeaders(edits) => {
                chain.response_headers.then(edits);
                return Ok(());
            }
            Policy::RequestJson(edits) => {
                chain.request_json.push(Plan::new(edits)?);
                return Ok(());
            }
            Policy::ResponseJson(edits) => {
                chain.response_json.push(Plan::new(edits)?);
                return Ok(());
            }
            Policy::Soap(policy) => {
                if chain.soap.is_some() {
                    let words = "a second one on the same route; write both directions into one";
                    return Err(vec![(String::new(), words.into())]);
                }
                chain.soap = Some(Soap::new(at, policy, &self.upstreams, self.is_check)?);
                return Ok(());
            }
        };
        chain.stages.push(stage);
        Ok(())
    }
}

impl Compiler {
    fn contract(&self, policy: &OpenapiPolicy) -> Result<Contract, Vec<Mistake>> {
        let contract = Contract::of(&policy.document).map_err(|wrong| {
            let told = wrong.into_iter().map(|(at, words)| {
                let words = if at.is_empty() {
                    words
                } else {
                    format!("at {at}: {words}")
                };
                ("/document".to_owned(), words)
            });
            told.collect::<Vec<_>>()
        })?;
        Ok(contract.on(self.stripped.clone(), policy.requests, policy.responses))
    }
}

impl Chain {
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
                && is_json(head)
    }

    /// Whether an answer must be whole before it goes on.
    pub(crate) fn collects_answer(&self, head: &Head<'_>) -> bool {
        match head.framing() {
            Framing::None => false,
            _ if self.processes_answers() => true,
            Framing::Length(0) => false,
            _ => !self.response_json.is_empty() && is_json(head),
        }
    }

    /// Whether answers may get another body.
    pub(crate) fn replaces_answers(&self) -> bool {
        !self.response_json.is_empty() || self.processes_answers()
    }

    fn processes_answers(&self) -> bool {
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
                let found = head.field(header).and_then(|key| consumers.keys.find(key));
                admit(found, Challenge::ApiKey, notes)
            }
            Self::ApiKeyQuery { name } => {
                let found = query::consumer(head.target(), name, &consumers.keys);
                admit(found, Challenge::ApiKey, notes)
            }
            Self::BasicAuth(challenge) => {
                let value = head.field("Authorization");
                let found = value.and_then(|value| basic::consumer(value, &consumers.credentials));
                admit(found, *challenge, notes)
            }
            Self::Jwt(verifier) => {
                let value = head.field("Authorization");
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

fn admit(found: Option<u32>, challenge: Challenge, notes: &mut Notes) -> Option<Choice> {
    if found.is_none() {
        return Some(Choice::Unauthorized(challenge));
    }
    notes.consumer = found;
    None
}

/// The challenge of RFC 7617 section 2.1.
fn basic_challenge(realm: &str) -> Result<String, Vec<Mistake>> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if realm.bytes().all(is_plain) {
        Ok(format!("Basic realm=\"{realm}\", charset=\"UTF-8\""))
    } else {
        let message =
            "a realm is ASCII without quotes and backslashes; write for example \"gatebench\"";
        Err(vec![("/realm".into(), message.into())])
    }
}

/// Whether a body is JSON as it stands: its type is `application/json` or ends with `+json` (RFC 6839), and
/// it is not compressed.
fn is_json(head: &Head<'_>) -> bool {
    let Some(value) = head.field("Content-Type") else {
        return false;
    };
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii_end();
    let suffix = essence.last_chunk::<5>();
    let is_json = essence.eq_ignore_ascii_case(b"application/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"));
    is_json
        && head
            .field("Content-Encoding")
            .is_none_or(|coding| coding.eq_ignore_ascii_case(b"identity"))
}
