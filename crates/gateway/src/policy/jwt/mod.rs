//! Verifies signed tokens (RFC 7519) with HS256 or RS256, and finds the consumers that they name.

mod cache;
mod keys;
mod token;

use std::time::{SystemTime, UNIX_EPOCH};

use gatebench_model::policy::JwtPolicy;

use super::Consumers;
use crate::config::ConfigError;
pub(crate) use cache::Cache;
use keys::Key;
use token::{Claims, Token};

/// A compiled `jwt` policy.
#[derive(Debug)]
pub(crate) struct Verifier {
    keys: Vec<Key>,
    issuer: Option<String>,
    audience: Option<String>,
    leeway_s: f64,
    /// The number of the policy's cache in each worker.
    pub(crate) cache: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Good {
    /// The consumer whose name is the token's `sub`, if there is one.
    pub(crate) consumer: Option<u32>,
    pub(crate) left_ns: u64,
}

impl Verifier {
    pub(crate) fn new(policy: &JwtPolicy, cache: usize) -> Result<Self, Vec<ConfigError>> {
        Ok(Self {
            keys: keys::keys(policy)?,
            issuer: policy.issuer.clone(),
            audience: policy.audience.clone(),
            leeway_s: policy.leeway.as_secs_f64(),
            cache,
        })
    }

    /// Looks a token up in the cache, or verifies it. Returns the consumer, if any, that it names;
    /// the outer option is `None` if the token is invalid.
    pub(crate) fn judge(
        &self,
        token: &[u8],
        consumers: &Consumers,
        cache: &mut Cache,
        now_ns: u64,
    ) -> Option<Option<u32>> {
        if let Some(consumer) = cache.find(token, now_ns) {
            return Some(consumer);
        }
        let good = self.verify(token, consumers, unix_s())?;
        cache.keep(token, good.consumer, now_ns, good.left_ns);
        Some(good.consumer)
    }

    /// Verifies a token's signature and then its claims. `now_s` is in seconds since 1970.
    fn verify(&self, token: &[u8], consumers: &Consumers, now_s: f64) -> Option<Good> {
        let token = Token::parse(token)?;
        if !self.keys.iter().any(|key| key.signed(&token)) {
            return None;
        }
        let claims = token.claims()?;
        if self.issuer.is_some() && self.issuer != claims.iss {
            return None;
        }
        if let Some(audience) = &self.audience
            && !claims.aud.as_ref()?.contains(audience)
        {
            return None;
        }
        let subject = claims.sub.as_deref();
        Some(Good {
            consumer: subject.and_then(|name| consumers.named(name)),
            left_ns: self.left_ns(&claims, now_s)?,
        })
    }

    /// Returns the time for which a token stays valid, in nanoseconds; `None` if it has expired or
    /// is not valid yet.
    fn left_ns(&self, claims: &Claims, now_s: f64) -> Option<u64> {
        if claims.nbf.is_some_and(|nbf| nbf > now_s + self.leeway_s) {
            return None;
        }
        let exp = claims.exp;
        let left_s = exp.map_or(f64::MAX, |exp| exp + self.leeway_s - now_s);
        // Without `exp`, this saturates at the largest integer.
        (left_s > 0.0).then_some((left_s * 1e9) as u64)
    }
}

fn unix_s() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests;
