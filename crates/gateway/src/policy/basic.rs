//! Basic authentication (RFC 7617): the user is the name of a consumer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::credential_store::CredentialStore;

/// Longer credentials, in Base64, match no consumer.
const CREDENTIALS_BYTES_MAX: usize = 1024;

/// Returns the number of the consumer whose credentials a request carries. The credentials,
/// `user:password`, are looked up like keys, so the duration of a look-up reveals nothing about
/// them.
pub(crate) fn consumer(value: &[u8], credentials: &CredentialStore) -> Option<u32> {
    let token = after_scheme(value, "basic")?;
    let mut decoded = [0_u8; CREDENTIALS_BYTES_MAX];
    if token.len() > CREDENTIALS_BYTES_MAX {
        return None;
    }
    let length = STANDARD.decode_slice(token, &mut decoded).ok()?;
    credentials.find(&decoded[..length])
}

/// Returns the text after the name of an authentication scheme. The case of the name does not
/// matter (RFC 9110 11.1).
pub(crate) fn after_scheme<'v>(value: &'v [u8], scheme: &str) -> Option<&'v [u8]> {
    let (name, rest) = value.split_at_checked(scheme.len())?;
    let rest = rest.strip_prefix(b" ")?;
    name.eq_ignore_ascii_case(scheme.as_bytes())
        .then(|| rest.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str) -> Option<u32> {
        let credentials =
            CredentialStore::new([("alice:secret", 0), ("bob:pass:word", 1), ("carol:", 2)]);
        consumer(value.as_bytes(), &credentials)
    }

    #[test]
    fn credentials_are_those_of_a_consumer() {
        // Encoded as in RFC 4648 with `printf alice:secret | base64`.
        assert_eq!(found("Basic YWxpY2U6c2VjcmV0"), Some(0));
        assert_eq!(found("bAsIc  YWxpY2U6c2VjcmV0"), Some(0));
        assert_eq!(found("Basic Ym9iOnBhc3M6d29yZA=="), Some(1));
        assert_eq!(found("Basic Y2Fyb2w6"), Some(2));
    }

    #[test]
    fn other_values_match_no_consumer() {
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
            assert_eq!(found(value), None, "{value}");
        }
        assert_eq!(found(&format!("Basic {}", "YWFh".repeat(1000))), None);
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics(value in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let credentials = CredentialStore::new([("alice:secret", 0)]);
            consumer(&value, &credentials);
            consumer(&[&b"Basic "[..], &value].concat(), &credentials);
        }
    }
}
