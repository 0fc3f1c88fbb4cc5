//! The consumers and their secrets: API keys, and passwords of basic authentication (RFC 7617).
//!
//! A secret is found by a keyed hash (SipHash with a random key), so the duration of a look-up does
//! not depend on how much of a guess is right. A candidate with the same hash is then compared
//! without stopping at the first difference. The length of a secret is not kept secret.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::config::Consumer;
use crate::path::query::{decode, parameters, query_of};

/// The maximum length, in bytes, of basic credentials in Base64 and of a key decoded from a query.
/// Longer ones match no consumer.
const WRITTEN_BYTES_MAX: usize = 1024;

#[derive(Debug)]
pub(crate) struct Consumers {
    pub(crate) keys: CredentialStore,
    /// The consumers by `name:password`.
    pub(crate) credentials: CredentialStore,
    numbers: HashMap<String, u32>,
    /// The names, indexed by consumer number.
    pub(crate) names: Vec<String>,
}

impl Consumers {
    pub(crate) fn new(consumers: &[Consumer]) -> Self {
        let numbered = || (0..).zip(consumers);
        let numbers = numbered().map(|(number, one)| (one.name.clone(), number));
        let keys =
            numbered().flat_map(|(number, one)| one.keys.iter().map(move |key| (key, number)));
        let credentials = numbered().filter_map(|(number, one)| {
            let password = one.password.as_ref()?;
            Some((format!("{}:{password}", one.name), number))
        });
        Self {
            keys: CredentialStore::new(keys),
            credentials: CredentialStore::new(credentials),
            numbers: numbers.collect(),
            names: consumers.iter().map(|one| one.name.clone()).collect(),
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }
}

/// One kind of secret, for all consumers.
#[derive(Debug)]
pub(crate) struct CredentialStore {
    secret: RandomState,
    /// The secrets by keyed hash; an entry has several only if their hashes collide.
    by_hash: HashMap<u64, Vec<Secret>>,
}

/// A secret with the number of its consumer.
type Secret = (Box<[u8]>, u32);

impl CredentialStore {
    pub(crate) fn new<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = (K, u32)>) -> Self {
        let secret = RandomState::new();
        let mut by_hash: HashMap<u64, Vec<_>> = HashMap::new();
        for (key, consumer) in keys {
            let key = key.as_ref();
            let entry = by_hash.entry(secret.hash_one(key)).or_default();
            entry.push((key.into(), consumer));
        }
        Self { secret, by_hash }
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let candidates = self.by_hash.get(&self.secret.hash_one(key))?;
        let mut candidates = candidates.iter();
        let found = candidates.find(|(secret, _)| equal_in_constant_time(secret, key));
        found.map(|(_, consumer)| *consumer)
    }

    /// Returns the number of the consumer whose name and password an Authorization field contains.
    pub(crate) fn of_basic_auth(&self, value: &[u8]) -> Option<u32> {
        let token = after_scheme(value, "basic")?;
        let mut decoded = [0_u8; WRITTEN_BYTES_MAX];
        if token.len() > WRITTEN_BYTES_MAX {
            return None;
        }
        let length = STANDARD.decode_slice(token, &mut decoded).ok()?;
        self.find(&decoded[..length])
    }

    /// Returns the number of the consumer whose key the query parameter with this name contains. A
    /// parameter that occurs twice matches no consumer, because the upstream could use the other
    /// value.
    pub(crate) fn of_parameter(&self, target: &str, name: &str) -> Option<u32> {
        let mut named = parameters(query_of(target)).filter(|(written, _)| is_named(written, name));
        let (_, value) = named.next()?;
        if named.next().is_some() {
            return None;
        }
        let mut decoded = [0_u8; WRITTEN_BYTES_MAX];
        let length = decode(value, &mut decoded)?;
        self.find(&decoded[..length])
    }
}

/// Compares all bytes, even after a difference; returns early only if the lengths differ.
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

/// Returns the text after the name of an authentication scheme. The case of the name does not
/// matter (RFC 9110 11.1).
pub(crate) fn after_scheme<'v>(value: &'v [u8], scheme: &str) -> Option<&'v [u8]> {
    let (name, rest) = value.split_at_checked(scheme.len())?;
    let rest = rest.strip_prefix(b" ")?;
    name.eq_ignore_ascii_case(scheme.as_bytes())
        .then(|| rest.trim_ascii_start())
}

/// Reports whether an encoded parameter name equals `name` when decoded.
fn is_named(written: &str, name: &str) -> bool {
    if !written.contains(['%', '+']) {
        return written == name;
    }
    let mut buffer = [0_u8; 256];
    decode(written, &mut buffer).is_some_and(|length| &buffer[..length] == name.as_bytes())
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

    fn by_basic_auth(value: &str) -> Option<u32> {
        let users =
            CredentialStore::new([("alice:secret", 0), ("bob:pass:word", 1), ("carol:", 2)]);
        users.of_basic_auth(value.as_bytes())
    }

    fn by_parameter(target: &str) -> Option<u32> {
        CredentialStore::new([("alpha", 3), ("a b+c%", 7)]).of_parameter(target, "api key")
    }

    #[test]
    fn users_with_their_passwords_are_found() {
        // Produced by `printf alice:secret | base64`.
        assert_eq!(by_basic_auth("Basic YWxpY2U6c2VjcmV0"), Some(0));
        assert_eq!(by_basic_auth("bAsIc  YWxpY2U6c2VjcmV0"), Some(0));
        assert_eq!(by_basic_auth("Basic Ym9iOnBhc3M6d29yZA=="), Some(1));
        assert_eq!(by_basic_auth("Basic Y2Fyb2w6"), Some(2));
    }

    #[test]
    fn other_credentials_match_no_consumer() {
        for value in [
            "",
            "Basic",
            "Basic ",
            "Basic=YWxpY2U6c2VjcmV0",
            "BasicYWxpY2U6c2VjcmV0",
            "Bearer YWxpY2U6c2VjcmV0",
            "Basic YWxpY2U6c2VjcmV1",
            "Basic Ym9iOnBhc3M6d29yZA",
            "Basic Ym9iOnBhc3M6d29yZA==,",
            "Basic YWxpY2U6c2Vj cmV0",
        ] {
            assert_eq!(by_basic_auth(value), None, "{value}");
        }
        assert_eq!(
            by_basic_auth(&format!("Basic {}", "YWFh".repeat(1000))),
            None
        );
    }

    #[test]
    fn encoded_keys_are_found() {
        for target in [
            "/a?api%20key=alpha",
            "/a?x=y&api+key=alpha&z",
            "/?api+key=%61lph%61",
            "http://h?api%20key=alpha",
        ] {
            assert_eq!(by_parameter(target), Some(3), "{target}");
        }
        assert_eq!(by_parameter("/a?api+key=a+b%2Bc%25"), Some(7));
        assert_eq!(by_parameter("/a?api+key=a%20b%2bc%"), Some(7));
    }

    #[test]
    fn other_parameters_match_no_consumer() {
        for target in [
            "/a",
            "/a?",
            "/alpha",
            "/a?api+key",
            "/a?api+key=",
            "/a?api+key=Alpha",
            "/a?api+key=alpha1",
            "/a?apikey=alpha",
            "/a?api+key=x&api+key=alpha",
            "/a?api+key=alpha&api+key=x",
            "/a?api+key=alpha&b&api%20key=alpha",
            "/a?api+key=alpha&api+key",
        ] {
            assert_eq!(by_parameter(target), None, "{target}");
        }
        assert_eq!(
            by_parameter(&format!("/?api+key={}", "a".repeat(5000))),
            None
        );
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics(target in "\\PC*", value in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let users = CredentialStore::new([("alice:secret", 0)]);
            users.of_basic_auth(&value);
            users.of_basic_auth(&[&b"Basic "[..], &value].concat());
            by_parameter(&target);
            by_parameter(&format!("/?api+key={target}"));
        }
    }
}
