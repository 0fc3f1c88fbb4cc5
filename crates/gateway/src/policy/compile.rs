//! Compiles the policies of a configuration to the chains that workers apply.

use std::sync::Arc;

use gatebench_model::policy::{JwtPolicy, OpenapiPolicy, Policy, RedisRateLimitPolicy};

use super::rate::RateLimiter;
use super::{Chain, Stage, jwt};
use crate::config::{ConfigError, Paths};
use crate::message::json::Plan;
use crate::message::{Challenge, Pages};
use crate::openapi::Contract;
use crate::redis::RedisLimit;
use crate::soap::{Soap, Surroundings};

/// Compiles chains, and assigns numbers to the caches, the Redis limits and the responses that they
/// use.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    /// The policies for which each worker keeps a cache of verified tokens, indexed by cache
    /// number.
    pub(crate) caches: Vec<JwtPolicy>,
    /// True if the settings are only checked. The definitions of `soap`, which are slow to compile,
    /// are then skipped.
    pub(crate) is_check: bool,
    pub(crate) upstreams: Arc<[String]>,
    /// The maximum size of a collected body, in bytes.
    pub(crate) collected_max: usize,
    /// The maximum size of the current route's request bodies after decompression, in bytes.
    pub(crate) request_bytes: usize,
    pub(crate) route: String,
    /// The rate limits that use Redis, indexed by limit number, each with its name in Redis.
    pub(crate) redis_limits: Vec<(String, RedisRateLimitPolicy)>,
    /// The prefix that the current route removes from the path.
    pub(crate) stripped: Option<String>,
    pub(crate) paths: Paths,
    pub(crate) consumers: usize,
    pub(crate) pages: Pages,
}

impl Compiler {
    /// Compiles the chain of a route. The error lists all mistakes in its policies, with places
    /// relative to the list of policies.
    pub(crate) fn chain(&mut self, policies: &[Policy]) -> Result<Chain, Vec<ConfigError>> {
        let mut chain = Chain::default();
        let mut mistakes = Vec::new();
        self.request_bytes = request_bytes(policies).min(self.collected_max);
        for (at, policy) in policies.iter().enumerate() {
            if let Err(wrong) = self.add(at, policy, &mut chain) {
                let place = format!("/{at}/{}", policy.kind());
                mistakes.extend(wrong.into_iter().map(|wrong| wrong.below(&place)));
            }
        }
        if chain.soap.is_some() && (!chain.request_json.is_empty() || chain.edits_responses()) {
            let message = "no other policy may edit bodies on a route with `soap`";
            mistakes.push(ConfigError::new(message, "use a stylesheet of `soap`"));
        }
        if chain.edits_responses() {
            // The gateway cannot edit a compressed response.
            chain.request_headers.remove("Accept-Encoding");
        }
        ConfigError::unless(mistakes, chain)
    }

    fn add(
        &mut self,
        at: usize,
        policy: &Policy,
        chain: &mut Chain,
    ) -> Result<(), Vec<ConfigError>> {
        let stage = match policy {
            Policy::ApiKey(api_key) => {
                chain.trust(&api_key.header);
                Stage::ApiKey(api_key.header.clone())
            }
            Policy::ApiKeyQuery(api_key) => Stage::ApiKeyQuery(api_key.name.clone()),
            Policy::ConsumerHeader(policy) => {
                if chain.consumer_header.is_some() {
                    return Err(second("keep one"));
                }
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
                    return Err(second("keep one"));
                }
                let place = format!("{}:{at}", self.route);
                let made = RedisLimit::new(limit, self.redis_limits.len(), &place);
                chain.redis = Some(made.map_err(|wrong| wrong.below("/redis"))?);
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
                    return Err(second("keep one"));
                }
                let contract = Arc::new(self.contract(policy)?);
                if contract.are_responses {
                    // The gateway cannot check a compressed response.
                    chain.request_headers.remove("Accept-Encoding");
                }
                chain.trust_bodies();
                contract.headers().for_each(|name| chain.trust(name));
                chain.openapi = Some(Arc::clone(&contract));
                Stage::Openapi(contract)
            }
            edits => return self.add_edit(at, edits, chain),
        };
        chain.stages.push(stage);
        Ok(())
    }

    fn add_edit(
        &self,
        at: usize,
        policy: &Policy,
        chain: &mut Chain,
    ) -> Result<(), Vec<ConfigError>> {
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
            Policy::Soap(_) if chain.soap.is_some() => {
                return Err(second("write both directions in one policy"));
            }
            Policy::Soap(policy) => {
                let around = Surroundings {
                    upstreams: &self.upstreams,
                    request_bytes: self.request_bytes,
                    response_bytes: self.collected_max,
                    is_check: self.is_check,
                };
                chain.trust_bodies();
                chain.soap = Some(Soap::new(at, policy, &around)?);
                let mut stages = chain.stages.iter();
                chain.is_soap_after_mock = stages.any(|stage| matches!(stage, Stage::Mock(_)));
            }
            _ => {}
        }
        Ok(())
    }

    fn contract(&self, policy: &OpenapiPolicy) -> Result<Contract, Vec<ConfigError>> {
        let placed = |wrong: ConfigError| {
            let message = match wrong.at.as_str() {
                "" => wrong.message,
                at => format!("at {at}: {}", wrong.message),
            };
            ConfigError {
                at: "/document".into(),
                message,
                ..wrong
            }
        };
        Contract::new(policy, self.stripped.clone(), self.paths)
            .map_err(|wrong| wrong.into_iter().map(placed).collect())
    }
}

/// Returns the maximum size, in bytes, of a route's request bodies after decompression: the
/// smallest `request_size_limit`, which compression must not circumvent, or `usize::MAX` if there
/// is none. Policies after a mock have no effect.
fn request_bytes(policies: &[Policy]) -> usize {
    let is_before_mock = |policy: &&Policy| !matches!(policy, Policy::Mock(_));
    let policies = policies.iter().take_while(is_before_mock);
    let limits = policies.filter_map(|policy| match policy {
        Policy::RequestSizeLimit(limit) => usize::try_from(limit.max_bytes).ok(),
        _ => None,
    });
    limits.min().unwrap_or(usize::MAX)
}

fn second(remedy: &str) -> Vec<ConfigError> {
    ConfigError::new("the route has another policy of this kind", remedy).into()
}

/// Returns the challenge of basic authentication (RFC 7617 section 2.1).
fn basic_challenge(realm: &str) -> Result<String, Vec<ConfigError>> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if !realm.bytes().all(is_plain) {
        let message = "the realm must be printable ASCII without quotes and backslashes";
        let wrong = ConfigError::new(message, "write a realm such as \"gatebench\"");
        return Err(wrong.below("/realm").into());
    }
    Ok(format!("Basic realm=\"{realm}\", charset=\"UTF-8\""))
}
