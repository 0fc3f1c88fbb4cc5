//! The consumers by their secrets: API keys, or users with passwords.
//!
//! A secret is found by a keyed hash (SipHash with a secret of this process), so the duration of a
//! look-up reveals nothing about the right secrets. A candidate with the same hash is then compared
//! without stopping at the first difference. The length of a secret is not kept secret.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The secrets of one kind of all consumers.
#[derive(Debug)]
pub(crate) struct CredentialStore {
    secret: RandomState,
    /// The keys by their keyed hash; several if hashes collide.
    by_hash: HashMap<u64, Vec<Key>>,
}

#[derive(Debug)]
struct Key {
    bytes: Box<[u8]>,
    consumer: u32,
}

impl CredentialStore {
    /// Secrets with the numbers of their consumers.
    pub(crate) fn new<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = (K, u32)>) -> Self {
        let secret = RandomState::new();
        let mut by_hash: HashMap<u64, Vec<Key>> = HashMap::new();
        for (key, consumer) in keys {
            let bytes = key.as_ref();
            let entry = by_hash.entry(secret.hash_one(bytes)).or_default();
            entry.push(Key {
                bytes: bytes.into(),
                consumer,
            });
        }
        Self { secret, by_hash }
    }

    /// The number of the consumer with that secret.
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let candidates = self.by_hash.get(&self.secret.hash_one(key))?;
        candidates
            .iter()
            .find(|candidate| equal_in_constant_time(&candidate.bytes, key))
            .map(|candidate| candidate.consumer)
    }
}

/// Compares all bytes, even after a difference.
pub(crate) fn equal_in_constant_time(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let difference = left
        .iter()
        .zip(right)
        .fold(0, |sum, (left, right)| sum | (left ^ right));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_key_matches() {
        let keys = CredentialStore::new([("alpha", 3), ("beta", 7)]);
        assert_eq!(
            (keys.find(b"alpha"), keys.find(b"beta")),
            (Some(3), Some(7))
        );
        for wrong in [&b""[..], b"alph", b"alphaa", b"alphb", b"Alpha", b"alpha "] {
            assert_eq!(keys.find(wrong), None);
        }
        assert_eq!(CredentialStore::new::<&str>([]).find(b""), None);
    }
}
