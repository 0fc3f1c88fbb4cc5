//! The policies of a route, prepared for the workers. They consist of an ordered chain that checks
//! requests, and of edits to the messages that pass.

mod compile;
mod credentials;
pub(crate) mod jwt;
mod rate;

use std::sync::Arc;

use gatebench_net::http1::{Framing, Head};

use crate::message::json::Plan;
use crate::message::{
    Body, Challenge, Choice, Form, HeaderProgram, Refusal, Standing, form_of, is_empty,
};
use crate::openapi::{Check, Contract, Operation};
use crate::redis::RedisLimit;
use crate::soap::{Soap, Stylesheets};
pub(crate) use compile::Compiler;
pub(crate) use credentials::Consumers;
use credentials::after_scheme;
use rate::RateLimiter;

#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// The policies that check the head of a request or respond to it, in order. The limit in
    /// `redis` is not among them.
    stages: Vec<Stage>,
    pub(crate) request_headers: HeaderProgram,
    pub(crate) response_headers: HeaderProgram,
    /// The header that names the consumer to the upstream.
    consumer_header: Option<String>,
    /// Fields that policies rely on. The gateway removes other fields that an upstream may confuse
    /// with them.
    pub(crate) trusted: Vec<String>,
    pub(crate) request_json: Vec<Plan>,
    pub(crate) response_json: Vec<Plan>,
    pub(crate) response_xslt: Stylesheets,
    pub(crate) soap: Option<Soap>,
    /// True if a mock precedes `soap`.
    is_soap_after_mock: bool,
    pub(crate) openapi: Option<Arc<Contract>>,
    /// The rate limit in Redis, which is consulted last, because Redis may take time to reply.
    pub(crate) redis: Option<RedisLimit>,
}

#[derive(Debug)]
enum Stage {
    /// Contains the name of the header with the key.
    ApiKey(String),
    /// Contains the name of the query parameter with the key.
    ApiKeyQuery(String),
    BasicAuth(Challenge),
    Jwt(jwt::Verifier),
    RateLimit(RateLimiter),
    SizeLimit(u64),
    Openapi(Arc<Contract>),
    /// Contains the index of the response in [`Pages::mocks`](crate::message::Pages::mocks).
    Mock(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// The head as the client sent it.
    pub(crate) head: &'a Head<'a>,
    /// The path that selected the route, before the route strips its prefix.
    pub(crate) path: &'a str,
    pub(crate) now_ns: u64,
}

/// The facts that the policies establish about a request.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) consumer: Option<u32>,
    /// The verdict that the response reports: that of the last rate limit that reports its state or
    /// refuses the request, or that of the first limit if no limit does either.
    pub(crate) standing: Option<Standing>,
    /// The index of the mock that responds to the request, unless a check of the body refuses it.
    pub(crate) mock: Option<usize>,
    /// The number of further bytes that the body may have, if a policy limits its size.
    pub(crate) body_max: Option<u64>,
    /// The operation that the rest of the request and its response are checked against.
    pub(crate) operation: Option<Check>,
    /// The status and text of a refusal, if they replace those that its [`Choice`] implies.
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl Notes {
    pub(crate) fn limit(&mut self, standing: Standing) -> Option<Choice> {
        if standing.has_headers || !standing.is_allowed || self.standing.is_none() {
            self.standing = Some(standing);
        }
        (!standing.is_allowed).then_some(Choice::Error(429))
    }
}

impl Chain {
    /// Continues the counts of the rate limits in `before`, the route's chain in the previous
    /// configuration.
    pub(crate) fn inherit(&mut self, before: &Self, consumers: &Consumers, theirs: &Consumers) {
        let mut limiters = before.stages.iter().filter_map(|stage| match stage {
            Stage::RateLimit(limiter) => Some(limiter),
            _ => None,
        });
        for stage in &mut self.stages {
            if let Stage::RateLimit(now) = stage
                && let Some(then) = limiters.next()
            {
                now.inherit(then, consumers, theirs);
            }
        }
    }

    /// Checks the head of a request, without the limit in Redis. Returns the gateway's own response
    /// if a policy chooses one, or `None` if the request passes these checks.
    pub(crate) fn judge(
        &self,
        request: &Request<'_>,
        consumers: &Consumers,
        caches: &mut [jwt::Cache],
        notes: &mut Notes,
    ) -> Option<Choice> {
        self.stages
            .iter()
            .find_map(|stage| stage.judge(request, consumers, caches, notes))
    }

    /// Refuses a request that the route edits but that cannot be edited, because its head
    /// contradicts itself or its body is compressed. Returns `None` for other requests.
    pub(crate) fn unreadable(&self, head: &Head<'_>) -> Option<Box<Refusal>> {
        if self.request_json.is_empty() || is_empty(head) {
            return None;
        }
        match Body::of_request(head) {
            Err(words) => Some(Refusal::new(400, words)),
            Ok(body) if body.is_coded && body.decoded_form() == Form::Json => {
                let words = "the body is compressed, so it cannot be edited; send it uncompressed";
                Some(Refusal::new(415, words))
            }
            Ok(_) => None,
        }
    }

    /// Returns the reason that a response cannot be edited, if the route edits it.
    pub(crate) fn unreadable_response(&self, head: &Head<'_>) -> Option<String> {
        match self.edits_responses() && !is_empty(head) {
            true => Body::of(head).err(),
            false => None,
        }
    }

    fn trust(&mut self, name: &str) {
        self.trusted.push(name.to_owned());
    }

    fn trust_bodies(&mut self) {
        self.trust("Content-Type");
        self.trust("Content-Encoding");
    }

    pub(crate) fn consumer_field<'a>(
        &'a self,
        notes: &Notes,
        consumers: &'a Consumers,
    ) -> Option<(&'a str, &'a [u8])> {
        let name = self.consumer_header.as_deref()?;
        Some((name, consumers.name(notes.consumer?)?.as_bytes()))
    }

    pub(crate) fn operation(&self, notes: &Notes) -> Option<(&Operation, Check)> {
        let check = notes.operation?;
        Some((self.openapi.as_ref()?.operation(check), check))
    }

    pub(crate) fn checks_responses(&self) -> bool {
        let contract = self.openapi.as_ref();
        contract.is_some_and(|contract| contract.are_responses)
    }

    /// Reports whether a request must be complete before it is passed on or a mock responds to it.
    /// Edits have no effect on the response of a mock.
    pub(crate) fn collects(&self, head: &Head<'_>, notes: &Notes) -> bool {
        let operation = self.operation(notes);
        let edits_json = || !self.request_json.is_empty() && !is_empty(head);
        operation.is_some_and(|(operation, check)| operation.reads_body(check))
            || self.request_soap().is_some()
            || notes.mock.is_none() && edits_json() && form_of(head) == Form::Json
    }

    /// Returns the `soap` policy, unless a mock precedes it: policies after a mock have no effect.
    pub(crate) fn effective_soap(&self) -> Option<&Soap> {
        self.soap.as_ref().filter(|_| !self.is_soap_after_mock)
    }

    pub(crate) fn request_soap(&self) -> Option<&Soap> {
        self.effective_soap().filter(|soap| soap.has_request())
    }

    /// Reports whether a response must be complete before it is passed on, because a policy edits
    /// or processes its body.
    pub(crate) fn collects_response(&self, head: &Head<'_>) -> bool {
        match head.framing() {
            Framing::None => false,
            _ if self.processes_responses() => true,
            Framing::Length(0) => false,
            _ => match form_of(head) {
                Form::Json => !self.response_json.is_empty(),
                Form::Xml => !self.response_xslt.is_empty(),
                Form::Other => false,
            },
        }
    }

    pub(crate) fn replaces_responses(&self) -> bool {
        self.edits_responses() || self.processes_responses()
    }

    pub(crate) fn may_collect_responses(&self) -> bool {
        self.replaces_responses() || self.checks_responses()
    }

    fn edits_responses(&self) -> bool {
        !(self.response_json.is_empty() && self.response_xslt.is_empty())
    }

    /// Reports whether responses pass through a SOAP/XML chain, which supports gzip and no other
    /// coding.
    pub(crate) fn processes_responses(&self) -> bool {
        self.soap.as_ref().is_some_and(Soap::has_response)
    }
}

impl Stage {
    fn judge(
        &self,
        request: &Request<'_>,
        consumers: &Consumers,
        caches: &mut [jwt::Cache],
        notes: &mut Notes,
    ) -> Option<Choice> {
        let Request { head, path, now_ns } = *request;
        match self {
            Self::ApiKey(header) => {
                let found = only(head, header).and_then(|key| consumers.keys.find(key));
                admit(found, Challenge::ApiKey, notes)
            }
            Self::ApiKeyQuery(name) => {
                let found = consumers.keys.of_parameter(head.target(), name);
                admit(found, Challenge::ApiKey, notes)
            }
            Self::BasicAuth(challenge) => {
                let value = only(head, "Authorization");
                let found = value.and_then(|value| consumers.credentials.of_basic_auth(value));
                admit(found, *challenge, notes)
            }
            Self::Jwt(verifier) => {
                let value = only(head, "Authorization");
                let token = value.and_then(|value| after_scheme(value, "bearer"));
                let Some(token) = token else {
                    return Some(Choice::Unauthorized(Challenge::Bearer));
                };
                let cache = &mut caches[verifier.cache];
                match verifier.judge(token, consumers, cache, now_ns) {
                    Some(consumer) => {
                        // If the token names no consumer, the one that an earlier policy found
                        // is kept.
                        notes.consumer = consumer.or(notes.consumer);
                        None
                    }
                    None => Some(Choice::Unauthorized(Challenge::InvalidToken)),
                }
            }
            Self::RateLimit(limiter) => {
                let value = limiter.header().and_then(|name| head.field(name));
                notes.limit(limiter.count(notes.consumer, value, now_ns))
            }
            Self::SizeLimit(max_bytes) => {
                notes.body_max = Some(notes.body_max.map_or(*max_bytes, |max| max.min(*max_bytes)));
                match head.framing() {
                    Framing::Length(length) if length > *max_bytes => Some(Choice::Error(413)),
                    _ => None,
                }
            }
            Self::Openapi(contract) => match contract.judge(head, path) {
                Ok(check) => {
                    notes.operation = check;
                    None
                }
                Err(refusal) => {
                    notes.refusal = Some(refusal);
                    Some(Choice::Refused)
                }
            },
            Self::Mock(mock) => {
                notes.mock = Some(*mock);
                Some(Choice::Mock(*mock))
            }
        }
    }
}

/// Returns the value of a field that occurs exactly once. If a request had two credentials, the
/// upstream could use the one that was not checked.
fn only<'a>(head: &Head<'a>, name: &str) -> Option<&'a [u8]> {
    let fields = head.fields();
    let mut named = fields.filter(|field| field.name.eq_ignore_ascii_case(name));
    let first = named.next()?;
    named.next().is_none().then_some(first.value)
}

fn admit(found: Option<u32>, challenge: Challenge, notes: &mut Notes) -> Option<Choice> {
    if found.is_none() {
        return Some(Choice::Unauthorized(challenge));
    }
    notes.consumer = found;
    None
}
