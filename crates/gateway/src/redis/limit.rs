//! Rate limits that are counted in Redis. Each key has a fixed window that begins with the key's
//! first request.

use std::collections::HashMap;
use std::net::SocketAddr;

use gatebench_model::policy::{RateLimitKey, RedisRateLimitPolicy};
use gatebench_net::http1::Head;

use crate::config::ConfigError;
use crate::message::Standing;

/// The maximum length of a header's value, in bytes; a request with a longer value is counted as if
/// it had none.
const VALUE_BYTES_MAX: usize = 256;

/// The maximum number of keys of one limit that a worker counts separately. All other keys share
/// one count.
const KEYS_MAX: usize = 65_536;

/// The minimum interval, in nanoseconds, between two searches for keys that a worker can drop to
/// make room for others.
const SWEEP_EACH_NS: u64 = 1_000_000_000;

/// The Redis server that keeps the counts of a limit. Limits with different timeouts do not share a
/// connection: if a short timeout ended a shared connection, the limits with longer timeouts would
/// lose their replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) password: Option<String>,
    /// The maximum time until a reply, in nanoseconds.
    pub(crate) timeout_ns: u64,
}

/// A compiled `redis_rate_limit` policy.
#[derive(Debug)]
pub(crate) struct RedisLimit {
    /// The limit's number among all Redis limits of the configuration.
    pub(crate) number: usize,
    pub(crate) server: Server,
    pub(crate) policy: RedisRateLimitPolicy,
    pub(crate) window_ms: u64,
    prefix: Vec<u8>,
}

impl RedisLimit {
    /// `place` names the limit in Redis: gateways that use the same place share the counts.
    pub(crate) fn new(
        policy: &RedisRateLimitPolicy,
        number: usize,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let written = policy.redis.as_deref().ok_or_else(|| {
            ConfigError::new(
                "the policy names no Redis server",
                "write redis: \"127.0.0.1:6379\"",
            )
        })?;
        let address = written.parse().map_err(|_| {
            let message = format!("the address \"{written}\" is not an IP address with a port");
            ConfigError::new(message, "write it as 127.0.0.1:6379")
        })?;
        Ok(Self {
            number,
            server: Server {
                address,
                password: policy.password.clone(),
                timeout_ns: policy.timeout.as_nanos(),
            },
            policy: policy.clone(),
            window_ms: (policy.window.as_nanos() / 1_000_000).max(1),
            prefix: format!("gatebench:{place}:").into_bytes(),
        })
    }

    pub(crate) fn write_key(&self, key: &mut Vec<u8>, head: &Head<'_>, consumer: Option<&str>) {
        key.clear();
        key.extend_from_slice(&self.prefix);
        match self.policy.per {
            RateLimitKey::Route => key.extend_from_slice(b"all"),
            RateLimitKey::Consumer => {
                key.extend_from_slice(b"consumer:");
                key.extend_from_slice(consumer.unwrap_or_default().as_bytes());
            }
            RateLimitKey::Header => {
                let name = self.policy.header.as_deref().unwrap_or_default();
                let value = head.field(name).unwrap_or_default();
                key.extend_from_slice(b"header:");
                if value.len() <= VALUE_BYTES_MAX {
                    key.extend_from_slice(value);
                }
            }
        }
    }

    /// Returns the verdict for a count; `left_ms` is the time remaining in the window.
    pub(crate) fn standing(&self, count: u64, left_ms: u64) -> Standing {
        let reset_s = left_ms.div_ceil(1000);
        Standing {
            is_allowed: count <= self.policy.limit,
            has_headers: self.policy.headers,
            limit: self.policy.limit,
            remaining: self.policy.limit.saturating_sub(count),
            reset_s,
            retry_after_s: reset_s.max(1),
        }
    }
}

/// One worker's counts for a limit, and the last totals from Redis.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    buckets: HashMap<Box<[u8]>, Bucket>,
    /// Keys with counts that have not been sent to Redis yet.
    dirty: Vec<Box<[u8]>>,
    pub(crate) sent_at_ns: u64,
    /// True if the counts must be sent immediately, because a key's total in Redis is unknown.
    pub(crate) is_urgent: bool,
    swept_at_ns: u64,
}

#[derive(Debug, Default)]
struct Bucket {
    /// Requests not yet reported to Redis.
    fresh: u64,
    /// Requests reported to Redis in commands that it has not replied to.
    sent: u64,
    /// The last total received from Redis, over all gateways and workers.
    total: u64,
    /// The time at which the key expires in Redis.
    ends_at_ns: u64,
}

impl Counts {
    /// Decides on a request without waiting for Redis, and counts it if it is allowed.
    pub(crate) fn count(&mut self, limit: &RedisLimit, key: &[u8], now_ns: u64) -> Standing {
        let mut key = key;
        let is_full = self.buckets.len() >= KEYS_MAX;
        if is_full && !self.buckets.contains_key(key) && !self.make_room(now_ns) {
            key = &limit.prefix;
        }
        if !self.buckets.contains_key(key) {
            self.buckets.insert(key.into(), Bucket::default());
        }
        let Some(bucket) = self.buckets.get_mut(key) else {
            return limit.standing(0, limit.window_ms);
        };
        if bucket.ends_at_ns <= now_ns {
            bucket.total = 0;
        }
        let count = bucket.total + bucket.sent + bucket.fresh + 1;
        let left_ms = match bucket.ends_at_ns.saturating_sub(now_ns) / 1_000_000 {
            0 => limit.window_ms,
            left_ms => left_ms,
        };
        let standing = limit.standing(count, left_ms);
        if standing.is_allowed {
            if bucket.fresh == 0 {
                self.dirty.push(key.into());
                self.is_urgent |= bucket.sent == 0 && bucket.ends_at_ns <= now_ns;
            }
            bucket.fresh += 1;
        }
        standing
    }

    /// Drops keys whose window has ended and whose requests Redis has counted, unless the last
    /// search for such keys was a short time ago. Returns true if there is room for another key.
    fn make_room(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.swept_at_ns.saturating_add(SWEEP_EACH_NS) {
            self.swept_at_ns = now_ns;
            self.buckets.retain(|_, bucket| bucket.is_live(now_ns));
        }
        self.buckets.len() < KEYS_MAX
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Calls `send` with each key and amount that has not been sent to Redis, and marks them as
    /// sent.
    pub(crate) fn send(&mut self, mut send: impl FnMut(&[u8], u64)) {
        for key in self.dirty.drain(..) {
            if let Some(bucket) = self.buckets.get_mut(&key) {
                let amount = std::mem::take(&mut bucket.fresh);
                bucket.sent += amount;
                send(&key, amount);
            }
        }
    }

    /// Adopts a key's total and the remaining time of its window from Redis's reply to the commands
    /// that added `amount`.
    pub(crate) fn adopt(&mut self, key: &[u8], amount: u64, total: u64, left_ms: u64, now_ns: u64) {
        if let Some(bucket) = self.buckets.get_mut(key) {
            bucket.sent = bucket.sent.saturating_sub(amount);
            bucket.total = total;
            bucket.ends_at_ns = now_ns + left_ms * 1_000_000;
        }
    }

    /// Marks counts to be sent again, because Redis will not confirm them.
    pub(crate) fn lost(&mut self, key: &[u8], amount: u64) {
        if let Some(bucket) = self.buckets.get_mut(key) {
            bucket.sent = bucket.sent.saturating_sub(amount);
            if bucket.fresh == 0 {
                self.dirty.push(key.into());
            }
            bucket.fresh += amount;
        }
    }
}

impl Bucket {
    fn is_live(&self, now_ns: u64) -> bool {
        self.fresh + self.sent > 0 || self.ends_at_ns > now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_of_10() -> RedisLimit {
        let policy = serde_json::json!({"limit": 10, "window": "1s", "redis": "127.0.0.1:1", "headers": true});
        let policy = serde_json::from_value(policy).unwrap();
        RedisLimit::new(&policy, 0, "r:0").unwrap()
    }

    #[test]
    fn counts_of_redis_and_unreported_requests_add_up() {
        let limit = limit_of_10();
        let mut counts = Counts::default();
        let allowed = |counts: &mut Counts, now_ns| counts.count(&limit, b"k", now_ns).is_allowed;
        assert!((0..4).all(|_| allowed(&mut counts, 1)));
        let mut sent = Vec::new();
        counts.send(|key, amount| sent.push((key.to_vec(), amount)));
        assert_eq!(sent, [(b"k".to_vec(), 4)]);
        // Another gateway has counted three requests.
        counts.adopt(b"k", 4, 7, 500, 1);
        let third = (0..3).map(|_| counts.count(&limit, b"k", 1)).last();
        let third = third.map(|it| (it.remaining, it.reset_s, it.is_allowed));
        assert_eq!(third, Some((0, 1, true)));
        assert!(!allowed(&mut counts, 1));
        // The window has ended. Counts that have not been sent to Redis are added to the next
        // window.
        assert!(allowed(&mut counts, 500_000_002));
        counts.send(|_, amount| assert_eq!(amount, 4));
        counts.lost(b"k", 4);
        let mut again = 0;
        counts.send(|_, amount| again += amount);
        assert_eq!(again, 4);
    }

    #[test]
    fn full_counts_are_searched_at_most_once_a_second() {
        let limit = limit_of_10();
        let mut counts = Counts::default();
        let begun_ns = 5 * SWEEP_EACH_NS;
        for number in 0..KEYS_MAX {
            counts.count(&limit, &number.to_be_bytes(), begun_ns);
        }
        counts.count(&limit, b"surplus", begun_ns);
        assert!(!counts.buckets.contains_key(&b"surplus"[..]));
        let mut sent = Vec::new();
        counts.send(|key, amount| sent.push((key.to_vec(), amount)));
        for (key, amount) in sent {
            counts.adopt(&key, amount, amount, 1, begun_ns);
        }
        // All windows have ended by now, but the last search was less than a second ago.
        counts.count(&limit, b"early", begun_ns + SWEEP_EACH_NS - 1);
        assert!(!counts.buckets.contains_key(&b"early"[..]));
        counts.count(&limit, b"late", begun_ns + SWEEP_EACH_NS);
        assert!(counts.buckets.contains_key(&b"late"[..]));
        assert!(counts.buckets.len() < 5);
    }
}
