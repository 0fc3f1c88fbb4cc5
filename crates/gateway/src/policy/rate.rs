//! Rate limits with a token bucket per key, implemented by the generic cell rate algorithm (ITU-T
//! I.371, annex A).
//!
//! A bucket of `limit` tokens fills within `window`. Only the time at which it will be full again
//! is stored: one number for all workers together, which changes by one compare-and-swap or, in
//! buckets of header values, under a lock. A full bucket allows `limit` requests at once, and then
//! one every `window / limit`. In any period t, a bucket allows at most `limit · (1 + t / window)`
//! requests.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gatebench_model::policy::{RateLimitKey, RateLimitPolicy};

use super::Consumers;
use crate::message::Standing;

/// Times are counted in units of 1/64 ns. The rounding error of a limit is then less than 2 % for a
/// billion requests per second, and less than 0.002 % for a million. A u64 lasts for nine years of
/// uptime.
const FRACTIONS: u64 = 64;
/// The number of shards that the values of a header are distributed over, each with its own lock.
const SHARDS: usize = 16;
/// The maximum number of header values that one shard keeps at a time. Further values share one
/// bucket.
const SHARD_KEYS_MAX: usize = 8192;
/// The maximum length of a header's value, in bytes; longer values share the bucket of requests
/// without the header.
const KEY_BYTES_MAX: usize = 256;
/// The minimum interval between two searches of a full shard for buckets to drop, in units of
/// 1/[`FRACTIONS`] ns.
const SWEEP_EACH: u64 = 1_000_000_000 * FRACTIONS;

/// A compiled `rate_limit` policy. Its buckets are shared by all workers.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    limit: u64,
    window: u64,
    /// The time that a bucket takes to regain one token, in units of 1/[`FRACTIONS`] ns.
    cost: u64,
    /// True if responses report the limit.
    pub(crate) has_headers: bool,
    /// Shared with the previous configuration's limiter if the counts continue unchanged.
    buckets: Arc<Buckets>,
}

/// The time at which each bucket will be full again, by the monotonic clock, in units of
/// 1/[`FRACTIONS`] ns.
#[derive(Debug)]
enum Buckets {
    One(AtomicU64),
    /// Indexed by consumer number; the last bucket is for requests without a consumer.
    PerConsumer(Box<[AtomicU64]>),
    PerHeader(Box<ByHeader>),
}

#[derive(Debug)]
struct ByHeader {
    name: String,
    secret: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    /// The bucket for requests without the header, for values longer than [`KEY_BYTES_MAX`], and
    /// for new values while their shard is full.
    others: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    full_at: HashMap<Box<[u8]>, u64>,
    swept_at: u64,
}

impl RateLimiter {
    /// Creates a limiter with full buckets. `consumers` is the number of consumers in the
    /// configuration.
    pub(crate) fn new(policy: &RateLimitPolicy, consumers: usize) -> Self {
        let window = policy.window.as_nanos().saturating_mul(FRACTIONS);
        let buckets = match (policy.per, &policy.header) {
            (RateLimitKey::Consumer, _) => {
                Buckets::PerConsumer((0..=consumers).map(|_| AtomicU64::new(0)).collect())
            }
            (RateLimitKey::Header, Some(name)) => Buckets::PerHeader(Box::new(ByHeader {
                name: name.clone(),
                secret: RandomState::new(),
                shards: Default::default(),
                others: AtomicU64::new(0),
            })),
            _ => Buckets::One(AtomicU64::new(0)),
        };
        Self {
            limit: policy.limit,
            window,
            cost: (window / policy.limit.max(1)).max(1),
            has_headers: policy.headers,
            buckets: Arc::new(buckets),
        }
    }

    /// Continues the counts of a limiter of the previous configuration if the limit, its window and
    /// the key that it counts by are unchanged. Consumers are matched by name.
    pub(crate) fn inherit(&mut self, before: &Self, consumers: &Consumers, theirs: &Consumers) {
        if (self.limit, self.window) != (before.limit, before.window) {
            return;
        }
        let is_shared = match (&*self.buckets, &*before.buckets) {
            (Buckets::One(_), Buckets::One(_)) => true,
            (Buckets::PerHeader(now), Buckets::PerHeader(then)) => {
                now.name.eq_ignore_ascii_case(&then.name)
            }
            (Buckets::PerConsumer(now), Buckets::PerConsumer(then)) => {
                let is_same = consumers.names == theirs.names;
                if !is_same {
                    carry_over(now, consumers, then, theirs);
                }
                is_same
            }
            _ => false,
        };
        if is_shared {
            self.buckets = Arc::clone(&before.buckets);
        }
    }

    /// Returns the name of the header whose values are counted separately, if any.
    pub(crate) fn header(&self) -> Option<&str> {
        match &*self.buckets {
            Buckets::PerHeader(by_header) => Some(&by_header.name),
            _ => None,
        }
    }

    /// Takes a token for a request of this consumer with this value of the header, if the bucket
    /// has one.
    pub(crate) fn count(
        &self,
        consumer: Option<u32>,
        value: Option<&[u8]>,
        now_ns: u64,
    ) -> Standing {
        let now = now_ns.saturating_mul(FRACTIONS);
        let outcome = match &*self.buckets {
            Buckets::One(bucket) => self.take(bucket, now),
            Buckets::PerConsumer(buckets) => {
                let others = buckets.len() - 1;
                let number = consumer.map_or(others, |number| (number as usize).min(others));
                self.take(&buckets[number], now)
            }
            Buckets::PerHeader(by_header) => match value {
                Some(value) if value.len() <= KEY_BYTES_MAX => {
                    self.take_of_value(by_header, value, now)
                }
                _ => self.take(&by_header.others, now),
            },
        };
        self.standing(outcome, now)
    }

    fn take(&self, bucket: &AtomicU64, now: u64) -> Result<u64, u64> {
        let mut full_at = bucket.load(Ordering::Relaxed);
        loop {
            let after = self.after(full_at, now)?;
            // Relaxed ordering is sufficient, because the bucket publishes no other data.
            match bucket.compare_exchange_weak(full_at, after, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Ok(after),
                Err(changed) => full_at = changed,
            }
        }
    }

    fn take_of_value(&self, by_header: &ByHeader, value: &[u8], now: u64) -> Result<u64, u64> {
        let shard = by_header.secret.hash_one(value) as usize % SHARDS;
        let mut shard = by_header.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = shard.full_at.get_mut(value) {
            let after = self.after(*full_at, now)?;
            *full_at = after;
            return Ok(after);
        }
        if !shard.has_room(now) {
            drop(shard);
            return self.take(&by_header.others, now);
        }
        let after = self.after(0, now)?;
        shard.full_at.insert(value.into(), after);
        Ok(after)
    }

    /// Returns the time at which a bucket is full again after a token is taken from it. The error
    /// means that the bucket has no token, and contains the time at which it is full again.
    fn after(&self, full_at: u64, now: u64) -> Result<u64, u64> {
        let after = full_at.max(now).saturating_add(self.cost);
        if after - now <= self.window.max(self.cost) {
            Ok(after)
        } else {
            Err(full_at)
        }
    }

    fn standing(&self, outcome: Result<u64, u64>, now: u64) -> Standing {
        let (Ok(full_at) | Err(full_at)) = outcome;
        let used = full_at.saturating_sub(now);
        let free = self.window.saturating_sub(used);
        Standing {
            is_allowed: outcome.is_ok(),
            has_headers: self.has_headers,
            limit: self.limit,
            remaining: free / self.cost,
            reset_s: seconds(used),
            retry_after_s: seconds(self.cost.saturating_sub(free)).max(1),
        }
    }
}

impl Shard {
    /// Reports whether there is room for another value; may first drop buckets that are full again.
    fn has_room(&mut self, now: u64) -> bool {
        if self.full_at.len() >= SHARD_KEYS_MAX && now >= self.swept_at.saturating_add(SWEEP_EACH) {
            self.swept_at = now;
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        self.full_at.len() < SHARD_KEYS_MAX
    }
}

/// Copies the buckets of consumers that still exist, and the bucket of requests without a consumer.
/// Requests that workers still count in the old buckets, until they adopt the new configuration,
/// are not carried over.
fn carry_over(now: &[AtomicU64], consumers: &Consumers, then: &[AtomicU64], theirs: &Consumers) {
    let copy = |into: Option<&AtomicU64>, from: Option<&AtomicU64>| {
        if let (Some(into), Some(from)) = (into, from) {
            into.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    };
    for (bucket, name) in now.iter().zip(&consumers.names) {
        let before = theirs
            .named(name)
            .and_then(|number| then.get(number as usize));
        copy(Some(bucket), before);
    }
    copy(now.last(), then.last());
}

fn seconds(fractions: u64) -> u64 {
    fractions.div_ceil(FRACTIONS * 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const START: u64 = 123_456_789 * SECOND;

    fn limiter(limit: u64, window: &str, per: RateLimitKey) -> RateLimiter {
        let policy = RateLimitPolicy {
            limit,
            window: window.parse().unwrap(),
            per,
            header: (per == RateLimitKey::Header).then(|| "X-Client".into()),
            headers: true,
        };
        RateLimiter::new(&policy, 2)
    }

    fn allowed(limiter: &RateLimiter, now_ns: u64) -> bool {
        limiter.count(None, None, now_ns).is_allowed
    }

    #[test]
    fn a_full_burst_then_one_request_per_part_of_the_window() {
        let limiter = limiter(10, "10s", RateLimitKey::Route);
        let first = limiter.count(None, None, START);
        assert_eq!((first.limit, first.remaining, first.reset_s), (10, 9, 1));
        assert!((1..10).all(|_| allowed(&limiter, START)));
        let refused = limiter.count(None, None, START);
        assert!(!refused.is_allowed);
        assert_eq!(
            (refused.remaining, refused.reset_s, refused.retry_after_s),
            (0, 10, 1)
        );
        assert!(!allowed(&limiter, START + SECOND - 1));
        assert!(allowed(&limiter, START + SECOND));
        assert!(!allowed(&limiter, START + SECOND));
        // A client that has been idle finds a full bucket, but no more.
        let later = START + 1000 * SECOND;
        assert_eq!((0..20).filter(|_| allowed(&limiter, later)).count(), 10);
    }

    #[test]
    fn a_limit_that_is_never_reached_refuses_nothing() {
        let limiter = limiter(1_000_000_000, "15m", RateLimitKey::Route);
        let standing = limiter.count(None, None, START);
        assert_eq!(
            (standing.remaining, standing.is_allowed),
            (999_999_999, true)
        );
        assert!((0..1_000_000).all(|_| allowed(&limiter, START)));
    }

    #[test]
    fn consumers_are_counted_separately_and_others_together() {
        let limiter = limiter(1, "1h", RateLimitKey::Consumer);
        for consumer in [Some(0), Some(1), None] {
            assert!(limiter.count(consumer, None, START).is_allowed);
            assert!(!limiter.count(consumer, None, START).is_allowed);
        }
        assert!(
            !limiter.count(Some(7), None, START).is_allowed,
            "unknown consumers share the bucket of the others"
        );
    }

    #[test]
    fn values_are_counted_separately_and_surplus_values_together() {
        let limiter = limiter(1, "1h", RateLimitKey::Header);
        let count = |value: &str, now| limiter.count(None, Some(value.as_bytes()), now).is_allowed;
        assert!(count("a", START) && count("b", START));
        assert!(!count("a", START) && !count("b", START));
        assert!(limiter.count(None, None, START).is_allowed);
        assert!(
            !count(&"x".repeat(1000), START),
            "long values are counted with requests that have none"
        );
        let known = (0..SHARDS * SHARD_KEYS_MAX * 2)
            .filter(|number| count(&number.to_string(), START + 1))
            .count();
        assert!(known <= SHARDS * SHARD_KEYS_MAX);
        // An hour later, all kept buckets are full again and can be dropped.
        assert!(count("new", START + 3601 * SECOND));
    }

    #[test]
    fn workers_share_a_bucket() {
        let limiter = limiter(1000, "1h", RateLimitKey::Route);
        let counted = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..500).filter(|_| allowed(&limiter, START)).count()))
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap())
                .sum::<usize>()
        });
        assert_eq!(counted, 1000);
    }

    proptest::proptest! {
        /// Compares the limiter with the usual formulation of a token bucket, for windows in which
        /// each token takes exactly one second to return.
        #[test]
        fn it_is_a_token_bucket(limit in 1_u64..20, steps in proptest::collection::vec(0_u64..5, 1..200)) {
            let policy = RateLimitPolicy {
                limit,
                window: gatebench_config::HumanDuration::from_millis(limit * 1000),
                per: RateLimitKey::Route,
                header: None,
                headers: false,
            };
            let limiter = RateLimiter::new(&policy, 0);
            let (mut tokens_ms, mut now) = (limit * 1000, START);
            for step in steps {
                let wait_ms = step * 300;
                now += wait_ms * 1_000_000;
                tokens_ms = (tokens_ms + wait_ms).min(limit * 1000);
                let expected = tokens_ms >= 1000;
                if expected {
                    tokens_ms -= 1000;
                }
                let standing = limiter.count(None, None, now);
                proptest::prop_assert_eq!(standing.is_allowed, expected);
                proptest::prop_assert_eq!(standing.remaining, tokens_ms / 1000);
            }
        }
    }
}
