//! Filters that write passwords and keys in the formats that gateways read.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gatebench_model::RsaNumbers;
use gatebench_model::policy::{JwtKey, JwtPolicy};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::{Value as Json, json};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// The lowest cost of bcrypt. A higher cost would not change what is measured, because Caddy, the
/// only embedded gateway that uses bcrypt, caches the result for each password.
const BCRYPT_COST: u32 = 4;
const SALT_BYTES: usize = 16;

/// Adds the filters of this module, whose names are part of the folder contract.
pub(crate) fn add_filters(environment: &mut Environment<'_>) {
    environment.add_filter("base64", |text: &str| STANDARD.encode(text));
    environment.add_filter("htpasswd_sha", htpasswd_sha);
    environment.add_filter("bcrypt", bcrypt);
    environment.add_filter("jwks", jwks);
}

/// `{{ password | htpasswd_sha }}`: `{SHA}` and the password's SHA-1 in Base64, as in htpasswd
/// files.
fn htpasswd_sha(password: &str) -> String {
    format!("{{SHA}}{}", STANDARD.encode(Sha1::digest(password)))
}

/// `{{ password | bcrypt }}`: the password's bcrypt hash. The salt is derived from the password, so
/// the same input always renders the same files. This is safe because these passwords protect only
/// a gateway under test.
fn bcrypt(password: &str) -> Result<String, Error> {
    let digest = Sha256::digest(password);
    let mut salt = [0; SALT_BYTES];
    salt.copy_from_slice(&digest[..SALT_BYTES]);
    let hash = bcrypt::hash_with_salt(password, BCRYPT_COST, salt)
        .map_err(|error| wrong(format!("bcrypt refuses a password: {error}")))?;
    Ok(hash.to_string())
}

/// `{{ policy.jwt | jwks | tojson }}`: all keys of a `jwt` policy as a JSON Web Key Set (RFC 7517).
fn jwks(policy: &Value) -> Result<Value, Error> {
    let policy = serde_json::to_value(policy)
        .and_then(serde_json::from_value::<JwtPolicy>)
        .map_err(|error| {
            wrong(format!(
                "the filter `jwks` requires the settings of a `jwt` policy: {error}"
            ))
        })?;
    let mut keys = policy.keys.iter().map(jwk).collect::<Result<Vec<_>, _>>()?;
    let written = policy.jwks.as_ref().and_then(|set| set.get("keys"));
    let written = written.and_then(Json::as_array).into_iter().flatten();
    keys.extend(written.cloned());
    Ok(Value::from(Serde(json!({ "keys": keys }))))
}

fn jwk(key: &JwtKey) -> Result<Json, Error> {
    let (mut jwk, id) = match key {
        JwtKey::Hs256(key) => {
            let k = URL_SAFE_NO_PAD.encode(&key.secret);
            (json!({ "kty": "oct", "alg": "HS256", "k": k }), &key.id)
        }
        JwtKey::Rs256(key) => {
            let numbers = key.numbers();
            let RsaNumbers { n, e } =
                numbers.map_err(|_| wrong("a public key is not an RSA key in PEM".into()))?;
            let [n, e] = [n, e].map(|number| URL_SAFE_NO_PAD.encode(number));
            let jwk = json!({ "kty": "RSA", "alg": "RS256", "n": n, "e": e });
            (jwk, &key.id)
        }
    };
    if let Some(id) = id {
        jwk["kid"] = id.as_str().into();
    }
    Ok(jwk)
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    use gatebench_model::policy::JwtPublicKey;

    use super::*;

    /// A key created with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:512 | openssl
    /// pkey -pubout`; its numbers in the tests are from `openssl pkey -pubin -text`.
    const PEM: &str = "-----BEGIN PUBLIC KEY-----\n\
        MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAOcA6FW/RLgpdvJCYxxznggN2j2oE8o6\n\
        6CCt51b4Vr5/G6p0DUkGMHVyzneZGYNW3aVpyUv9J7E4VaiFDELITncCAwEAAQ==\n\
        -----END PUBLIC KEY-----";

    #[test]
    fn passwords_are_hashed_as_in_htpasswd_files() {
        assert_eq!(
            htpasswd_sha("password"),
            "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
        );
        let hash = bcrypt("password").unwrap();
        assert!(bcrypt::verify("password", &hash).unwrap(), "{hash}");
        assert_eq!(hash, bcrypt("password").unwrap());
    }

    #[test]
    fn keys_become_a_set() {
        let policy = json!({
            "keys": [{"hs256": {"secret": "0123456789abcdef", "id": "one"}}, {"rs256": {"public_key": PEM}}],
            "jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]},
        });
        let set = jwks(&Value::from(Serde(policy))).unwrap();
        let set = serde_json::to_value(set).unwrap();
        let expected = json!({"keys": [
            {"kty": "oct", "alg": "HS256", "k": "MDEyMzQ1Njc4OWFiY2RlZg", "kid": "one"},
            {"kty": "RSA", "alg": "RS256", "n": "5wDoVb9EuCl28kJjHHOeCA3aPagTyjroIK3nVvhWvn8bqnQNSQYwdXLOd5kZg1bdpWnJS_0nsThVqIUMQshOdw", "e": "AQAB"},
            {"kty": "oct", "k": "AAAA"},
        ]});
        assert_eq!(set, expected);
    }

    #[test]
    fn other_text_is_not_an_rsa_key() {
        for pem in [
            "",
            "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMIT/\n-----END PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMAIB\n-----END PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEW+XAU0WHG3g8pWxS3YCNm+UXKnHF\nW/Hodd0y1ggGs25uxQ6NIt6rahvQiI/vF+oTitx5VyX1cJgp/bddN8ZFAg==\n-----END PUBLIC KEY-----",
        ] {
            let key = JwtPublicKey {
                public_key: pem.into(),
                id: None,
            };
            assert!(key.numbers().is_err(), "{pem}");
            let policy = json!({"keys": [{"rs256": {"public_key": pem}}]});
            let error = jwks(&Value::from(Serde(policy))).unwrap_err();
            assert!(error.to_string().contains("not an RSA key"), "{error}");
        }
    }
}
