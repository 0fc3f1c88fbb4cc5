//! Keys in parameters of a query.

use super::credential_store::CredentialStore;
use crate::path::query::{decode, parameters, query_of};

/// The largest length of a value as written; a longer value is no key.
const VALUE_BYTES_MAX: usize = 1024;

/// Returns the number of the consumer whose key is the value of the parameter with that name. Two
/// keys count as none, because the upstream could use the other one.
pub(crate) fn consumer(target: &str, name: &str, keys: &CredentialStore) -> Option<u32> {
    let mut buffer = [0_u8; VALUE_BYTES_MAX];
    let mut named = parameters(query_of(target)).filter(|(written, _)| is_named(written, name));
    let (_, value) = named.next()?;
    if named.next().is_some() {
        return None;
    }
    let length = decode(value, &mut buffer)?;
    keys.find(&buffer[..length])
}

/// Reports whether a name as written, when decoded, equals this one.
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

    fn found(target: &str) -> Option<u32> {
        let keys = CredentialStore::new([("alpha", 3), ("a b+c%", 7)]);
        consumer(target, "api key", &keys)
    }

    #[test]
    fn encoded_keys_are_found() {
        for target in [
            "/a?api%20key=alpha",
            "/a?x=y&api+key=alpha&z",
            "/?api+key=%61lph%61",
            "http://h?api%20key=alpha",
        ] {
            assert_eq!(found(target), Some(3), "{target}");
        }
        assert_eq!(found("/a?api+key=a+b%2Bc%25"), Some(7));
        assert_eq!(found("/a?api+key=a%20b%2bc%"), Some(7));
    }

    #[test]
    fn other_values_match_no_consumer() {
        for target in [
            "/a",
            "/a?",
            "/alpha",
            "/a?api+key",
            "/a?api+key=",
            "/a?api+key=Alpha",
            "/a?api+key=alpha1",
            "/a?apikey=alpha",
            // If there are several, the upstream may use another one.
            "/a?api+key=x&api+key=alpha",
            "/a?api+key=alpha&api+key=x",
            "/a?api+key=alpha&b&api%20key=alpha",
            "/a?api+key=alpha&api+key",
        ] {
            assert_eq!(found(target), None, "{target}");
        }
        assert_eq!(found(&format!("/?api+key={}", "a".repeat(5000))), None);
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics(target in "\\PC*") {
            found(&target);
            found(&format!("/?api+key={target}"));
        }
    }
}
