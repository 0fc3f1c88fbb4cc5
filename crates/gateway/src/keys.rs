//! Which consumer a key belongs to.
//!
//! A key is found by a keyed hash (SipHash with a secret of this process), so how long a wrong key is
//! looked for tells nothing about the right ones; a candidate of equal hash is then compared without
//! stopping at the first difference. The length of a key is not kept secret.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The keys of all consumers.
#[derive(Debug)]
pub(crate) struct Keys {
    secret: RandomState,
    /// By keyed hash; several where hashes collide.
    by_hash: HashMap<u64, Vec<Box<[u8]>>>,
}

impl Keys {
    pub(crate) fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let secret = RandomState::new();
        let mut by_hash: HashMap<u64, Vec<Box<[u8]>>> = HashMap::new();
        for key in keys {
            let entry = by_hash.entry(secret.hash_one(key.as_bytes())).or_default();
            entry.push(key.as_bytes().into());
        }
        Self { secret, by_hash }
    }

    /// Whether a consumer has that key.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let Some(candidates) = self.by_hash.get(&self.secret.hash_one(key)) else {
            return false;
        };
        candidates
            .iter()
            .any(|candidate| equal_in_constant_time(candidate, key))
    }
}

fn equal_in_constant_time(left: &[u8], right: &[u8]) -> bool {
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
    fn only_the_whole_key_is_a_key() {
        let keys = Keys::new(["alpha", "beta"]);
        assert!(keys.contains(b"alpha") && keys.contains(b"beta"));
        for wrong in [&b""[..], b"alph", b"alphaa", b"alphb", b"Alpha", b"alpha "] {
            assert!(!keys.contains(wrong));
        }
        assert!(!Keys::new([]).contains(b""));
    }
}
