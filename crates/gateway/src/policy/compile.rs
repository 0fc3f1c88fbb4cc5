//! Policies of a configuration to chains for the loop.

use std::sync::Arc;

use gatebench_model::policy::{JwtPolicy, OpenapiPolicy, Policy, RedisRateLimitPolicy};
use gatebench_model::soap::SoapPolicy;

use super::rate::RateLimiter;
use super::{Chain, Stage, jwt};
use crate::config::Mistake;
use crate::message::json::Plan;
use crate::message::{Challenge, Pages};
use crate::openapi::Contract;
use crate::redis::RedisLimit;
use crate::soap::{BodyLimits, Soap, Surroundings};

/// Compiles chains; numbers the caches that each worker needs.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    /// The policies that each worker keeps a cache of verified tokens for, by its number.
    pub(crate) caches: Vec<JwtPolicy>,
    /// Only mistakes are looked for: definitions, which take long, are not compiled.
    pub(crate) is_check: bool,
    /// The names of the upstreams.
    pub(crate) upstreams: Arc<[String]>,
    /// Bytes of a message that is kept whole.
    pub(crate) collected_max: usize,
    /// The name of the route at hand.
    pub(crate) route: String,
    /// Limits that are counted in Redis, by number, with what names them there.
    pub(crate) redis_limits: Vec<(String, RedisRateLimitPolicy)>,
    /// What the route at hand takes off the path.
    pub(crate) stripped: Option<String>,
    /// How many consumers there are.
    pub(crate) consumers: usize,
    pub(crate) pages: Pages,
}

impl Compiler {
    /// The chain of a route, or everything that is wrong with its policies, each with its place below
    /// the list of policies.
    pub(crate) fn chain(&mut self, policies: &[Policy]) -> Result<Chain, Vec<Mistake>> {
        let mut chain = Chain::default();
        let mut mistakes = Vec::new();
        let bodies = self.bodies(policies);
        for (at, policy) in policies.iter().enumerate() {
            let added = match policy {
                Policy::Soap(policy) => self.add_soap(at, policy, bodies, &mut chain),
                policy => self.add(at, policy, &mut chain),
            };
            if let Err(wrong) = added {
                let kind = policy.kind();
                let placed = wrong
                    .into_iter()
                    .map(|(place, message)| (format!("/{at}/{kind}{place}"), message));
                mistakes.extend(placed);
            }
        }
        let edits_json = !(chain.request_json.is_empty() && chain.response_json.is_empty());
        if chain.soap.is_some() && (edits_json || !chain.response_xslt.is_empty()) {
            let words = "`soap` has the bodies of its route to itself; use a stylesheet of its own";
            mistakes.push((String::new(), words.into()));
        }
        if !(chain.response_json.is_empty() && chain.response_xslt.is_empty()) {
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
            Policy::ApiKey(api_key) => {
                chain.trust(&api_key.header);
                Stage::ApiKey {
                    header: api_key.header.clone(),
                }
            }
            Policy::ApiKeyQuery(api_key) => Stage::ApiKeyQuery {
                name: api_key.name.clone(),
            },
            Policy::ConsumerHeader(policy) => {
                chain.request_headers.remove(&policy.header);
                chain.consumer_header = Some(policy.header.clone());
                return Ok(());
            }
            Policy::BasicAuth(basic) => {
                self.pages.realms.push(basic_challenge(&basic.realm)?);
                Stage::BasicAuth(Challenge::Basic(self.pages.realms.len() - 1))
            }
            Policy::Jwt(jwt) => {
                let verifier = jwt::Verifier::new(jwt, self.caches.len())?;
                self.caches.push(jwt.clone());
                Stage::Jwt(verifier)
            }
            Policy::RateLimit(limit) => {
                limit.header.iter().for_each(|name| chain.trust(name));
                Stage::RateLimit(RateLimiter::new(limit, self.consumers))
            }
            Policy::RedisRateLimit(limit) => {
                limit.header.iter().for_each(|name| chain.trust(name));
                if chain.redis.is_some() {
                    let words = "a second one on the same route; keep one";
                    return Err(vec![(String::new(), words.into())]);
                }
                let place = format!("{}:{at}", self.route);
                let made = RedisLimit::new(limit, self.redis_limits.len(), &place);
                chain.redis = Some(made.map_err(|words| vec![("/redis".into(), words)])?);
                self.redis_limits.push((place, (**limit).clone()));
                return Ok(());
            }
            Policy::RequestSizeLimit(limit) => Stage::SizeLimit(limit.max_bytes),
            Policy::Mock(mock) => {
                self.pages.mocks.push(mock.clone());
                Stage::Mock(self.pages.mocks.len() - 1)
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
                chain.trust_bodies();
                contract.headers().for_each(|name| chain.trust(name));
                chain.openapi = Some(Arc::clone(&contract));
                Stage::Openapi(contract)
            }
            edits => return self.add_edit(edits, chain),
        };
        chain.stages.push(stage);
        Ok(())
    }

    /// What is done to messages that pass.
    fn add_edit(&self, policy: &Policy, chain: &mut Chain) -> Result<(), Vec<Mistake>> {
        match policy {
            Policy::RequestHeaders(edits) => chain.request_headers.then(edits),
            Policy::ResponseHeaders(edits) => chain.response_headers.then(edits),
            Policy::RequestJson(edits) => {
                chain.trust_bodies();
                chain.request_json.push(Plan::new(edits)?);
            }
            Policy::ResponseJson(edits) => chain.response_json.push(Plan::new(edits)?),
            Policy::ResponseXslt(policy) => {
                chain.response_xslt.add(policy, self.collected_max)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_soap(
        &self,
        at: usize,
        policy: &SoapPolicy,
        bodies: BodyLimits,
        chain: &mut Chain,
    ) -> Result<(), Vec<Mistake>> {
        if chain.soap.is_some() {
            let words = "a second one on the same route; write both directions into one";
            return Err(vec![(String::new(), words.into())]);
        }
        let around = Surroundings {
            upstreams: &self.upstreams,
            bodies,
            is_check: self.is_check,
        };
        chain.trust_bodies();
        chain.soap = Some(Soap::new(at, policy, &around)?);
        Ok(())
    }

    /// What the bodies of a route may unpack to: what may come as it is, so that packing is no way around a limit.
    fn bodies(&self, policies: &[Policy]) -> BodyLimits {
        let limits = policies.iter().filter_map(|policy| match policy {
            Policy::RequestSizeLimit(limit) => usize::try_from(limit.max_bytes).ok(),
            _ => None,
        });
        BodyLimits {
            request: limits.fold(self.collected_max, usize::min),
            response: self.collected_max,
        }
    }

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
