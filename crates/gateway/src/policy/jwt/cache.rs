//! Tokens that one worker has verified, keyed by their exact bytes.
//!
//! The validity of a token depends on its bytes, on the policy (which does not change) and on the
//! time. The same bytes therefore stay valid until the token expires: a cached token costs a hash
//! and a comparison, and is neither parsed nor verified. The cache uses the monotonic clock; an
//! entry is trusted for at most a minute, so that steps of the wall clock take effect. A worker
//! keeps at most 1024 tokens per policy, of at most 8 KiB each. Only verified tokens are added;
//! when there is no room, the oldest token is removed.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::policy::credentials::equal_in_constant_time;

const TOKENS_MAX: usize = 1024;

/// The maximum time for which a verification is trusted, in nanoseconds.
const BELIEVED_NS: u64 = 60_000_000_000;

#[derive(Debug, Default)]
pub(crate) struct Cache {
    secret: RandomState,
    by_hash: HashMap<u64, Entry>,
    /// The hashes in order of insertion.
    order: VecDeque<u64>,
}

#[derive(Debug)]
struct Entry {
    token: Box<[u8]>,
    consumer: Option<u32>,
    until_ns: u64,
}

impl Cache {
    /// Returns the consumer, if any, that a cached token names. The outer option is `None` if the
    /// token is not cached or no longer trusted.
    pub(crate) fn find(&self, token: &[u8], now_ns: u64) -> Option<Option<u32>> {
        let entry = self.by_hash.get(&self.secret.hash_one(token))?;
        (now_ns < entry.until_ns && equal_in_constant_time(&entry.token, token))
            .then_some(entry.consumer)
    }

    /// Caches a verified token, which stays valid for `left_ns` from now.
    pub(crate) fn keep(&mut self, token: &[u8], consumer: Option<u32>, now_ns: u64, left_ns: u64) {
        let hash = self.secret.hash_one(token);
        let entry = Entry {
            token: token.into(),
            consumer,
            until_ns: now_ns.saturating_add(left_ns.min(BELIEVED_NS)),
        };
        if self.by_hash.insert(hash, entry).is_none() {
            self.order.push_back(hash);
            if self.order.len() > TOKENS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.by_hash.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_cached_until_it_expires_and_at_most_a_minute() {
        let mut cache = Cache::default();
        cache.keep(b"short", Some(1), 1000, 500);
        cache.keep(b"long", None, 1000, u64::MAX);
        assert_eq!(cache.find(b"short", 1499), Some(Some(1)));
        assert_eq!(cache.find(b"short", 1500), None);
        assert_eq!(cache.find(b"long", 1000 + BELIEVED_NS - 1), Some(None));
        assert_eq!(cache.find(b"long", 1000 + BELIEVED_NS), None);
        assert_eq!(cache.find(b"shorx", 1000), None);
    }

    #[test]
    fn the_oldest_token_is_evicted() {
        let mut cache = Cache::default();
        for number in 0..=TOKENS_MAX {
            cache.keep(number.to_string().as_bytes(), None, 0, 10);
            cache.keep(b"0", None, 0, 10);
        }
        assert_eq!(cache.by_hash.len(), TOKENS_MAX);
        assert_eq!(cache.find(b"1", 0), None);
        assert_eq!(cache.find(b"2", 0), Some(None));
    }
}
