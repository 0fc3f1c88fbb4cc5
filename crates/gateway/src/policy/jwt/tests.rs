use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use ring::hmac;
use serde_json::json;

use super::*;
use crate::config::Consumer;

const SECRET: &str = "a secret of more than thirty-two bytes, for tests";
const NOW_S: f64 = 1_700_000_000.0;

fn consumers() -> Consumers {
    let alice = Consumer {
        name: "alice".into(),
        keys: Vec::new(),
        password: None,
    };
    Consumers::new(&[alice])
}

fn verifier(settings: serde_json::Value) -> Verifier {
    Verifier::new(&serde_json::from_value(settings).unwrap(), 0).unwrap()
}

fn of_secret() -> Verifier {
    verifier(json!({"keys": [{"hs256": {"secret": SECRET}}]}))
}

fn signed(header: &str, payload: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", part(header), part(payload));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn hs256(payload: &serde_json::Value) -> String {
    signed(r#"{"alg":"HS256"}"#, &payload.to_string())
}

fn is_good(verifier: &Verifier, token: &str) -> bool {
    verifier
        .verify(token.as_bytes(), &consumers(), NOW_S)
        .is_some()
}

/// The example of RFC 7515 appendix A.1, which another implementation signed.
#[test]
fn the_rfc_example_is_valid_until_it_expires() {
    let verifier = verifier(json!({"jwks": {"keys": [{
        "kty": "oct",
        "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    }]}, "issuer": "joe"}));
    let token = b"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let at = |now_s| verifier.verify(token, &consumers(), now_s);
    let good = at(1_300_819_379.0).unwrap();
    assert_eq!((good.consumer, good.left_ns), (None, 1_000_000_000));
    assert_eq!(at(1_300_819_380.0), None);
}

/// The example of RFC 7515 appendix A.2.
#[test]
fn an_rsa_key_of_a_set_verifies_and_another_does_not() {
    let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    let key = |n: &str| {
        verifier(json!({"jwks": {"keys": [{"kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256"}]}}))
    };
    let token = b"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let is_good = |n: &str| {
        key(n)
            .verify(token, &consumers(), 1_300_819_000.0)
            .is_some()
    };
    assert!(is_good(n));
    assert!(!is_good(&n.replacen("ofgW", "pfgW", 1)));
}

#[test]
fn claims_are_checked_against_the_settings() {
    let strict = verifier(json!({
        "keys": [{"hs256": {"secret": SECRET}}], "issuer": "me", "audience": "you", "leeway": "10s"
    }));
    let good =
        json!({"iss": "me", "aud": "you", "exp": NOW_S + 1.0, "nbf": NOW_S - 1.0, "sub": "alice"});
    let with = |name: &str, value: serde_json::Value| {
        let mut claims = good.clone();
        claims[name] = value;
        is_good(&strict, &hs256(&claims))
    };
    assert!(is_good(&strict, &hs256(&good)));
    let found = strict
        .verify(hs256(&good).as_bytes(), &consumers(), NOW_S)
        .unwrap();
    assert_eq!((found.consumer, found.left_ns), (Some(0), 11_000_000_000));
    assert!(with("aud", json!(["others", "you"])) && !with("aud", json!(["others"])));
    assert!(!with("aud", json!(null)) && !with("aud", json!("yo")) && !with("aud", json!(7)));
    assert!(!with("iss", json!("you")) && !with("iss", json!(null)));
    assert!(with("exp", json!(NOW_S - 9.0)) && !with("exp", json!(NOW_S - 10.0)));
    assert!(!with("exp", json!("never")) && with("exp", json!(null)));
    assert!(with("nbf", json!(NOW_S + 10.0)) && !with("nbf", json!(NOW_S + 11.0)));
    assert!(with("sub", json!("nobody we know")));
}

#[test]
fn the_key_determines_the_algorithm() {
    let verifier = of_secret();
    let accepts = |verifier: &Verifier, header: &str| {
        is_good(verifier, &signed(header, r#"{"sub":"alice"}"#))
    };
    assert!(accepts(&verifier, r#"{"alg":"HS256","typ":"JWT"}"#));
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"HS384"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","alg":"HS256"}"#,
        r#"{}"#,
        "[]",
    ] {
        assert!(!accepts(&verifier, header), "{header}");
    }
    let named = self::verifier(json!({"keys": [{"hs256": {"secret": SECRET, "id": "one"}}]}));
    assert!(accepts(&named, r#"{"alg":"HS256"}"#));
    assert!(accepts(&named, r#"{"alg":"HS256","kid":"one"}"#));
    assert!(!accepts(&named, r#"{"alg":"HS256","kid":"two"}"#));
}

#[test]
fn malformed_tokens_are_refused() {
    let verifier = of_secret();
    let token = hs256(&json!({"sub": "alice"}));
    assert!(is_good(&verifier, &token));
    let (signed, signature) = token.rsplit_once('.').unwrap();
    for wrong in [
        String::new(),
        ".".into(),
        "..".into(),
        "...".into(),
        signed.into(),
        format!("{signed}."),
        format!("{token}."),
        format!("{token}="),
        format!("{token} "),
        format!("a{token}"),
        format!("{signed}.{signature}A"),
        format!("{signed}.{}", &signature[1..]),
        token.replace('.', ".."),
        format!("{token}{}", "A".repeat(9000)),
        self::signed(r#"{"alg":"HS256"}"#, r#"{"exp":1,"exp":9999999999}"#),
        self::signed(r#"{"alg":"HS256"}"#, "no json"),
    ] {
        assert!(!is_good(&verifier, &wrong), "{wrong}");
    }
}

#[test]
fn a_known_token_is_not_verified_again() {
    let (verifier, mut cache) = (of_secret(), Cache::default());
    let token = hs256(&json!({"sub": "alice", "exp": 4_000_000_000_u64}));
    let mut judge = |verifier: &Verifier, now_ns| {
        verifier.judge(token.as_bytes(), &consumers(), &mut cache, now_ns)
    };
    assert_eq!(judge(&verifier, 1), Some(Some(0)));
    let other = self::verifier(json!({"keys": [{"hs256": {"secret": SECRET.repeat(2)}}]}));
    assert_eq!(
        judge(&other, 2),
        Some(Some(0)),
        "the earlier verification is trusted"
    );
    assert_eq!(
        judge(&other, 60_000_000_001),
        None,
        "the token is verified again"
    );
}

#[test]
fn all_mistakes_in_keys_are_reported_with_their_places() {
    let policy = serde_json::from_value(json!({
        "keys": [{"hs256": {"secret": "short"}}, {"rs256": {"public_key": "none"}},
                 {"rs256": {"public_key": "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"}}],
        "jwks": {"keys": [{"k": "AAAA"}, {"kty": "RSA", "n": "AQAB", "e": "AQAB"}, {"kty": "oct"}]}
    }));
    let mistakes = Verifier::new(&policy.unwrap(), 0).unwrap_err();
    let places: Vec<_> = mistakes.iter().map(|wrong| wrong.at.as_str()).collect();
    let expected = [
        "/keys/0",
        "/keys/1",
        "/keys/2",
        "/jwks/keys/0",
        "/jwks/keys/1",
        "/jwks/keys/2",
    ];
    assert_eq!(places, expected);
    let none = Verifier::new(&serde_json::from_value(json!({})).unwrap(), 0);
    assert_eq!(none.unwrap_err().len(), 1);
}

#[test]
fn unsuitable_keys_of_a_set_are_skipped() {
    let secret = URL_SAFE_NO_PAD.encode(SECRET);
    let key = |usage: &str, alg: &str| json!({"kty": "oct", "k": secret, "use": usage, "alg": alg});
    let of = |keys: serde_json::Value| {
        let policy = serde_json::from_value(json!({"jwks": {"keys": keys}}));
        Verifier::new(&policy.unwrap(), 0)
    };
    let elliptic = json!({"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"});
    let some = of(json!([elliptic, key("enc", "A256KW"), key("sig", "HS256")])).unwrap();
    assert!(is_good(&some, &hs256(&json!({"sub": "alice"}))));
    for useless in [elliptic, key("enc", "HS256"), key("sig", "HS512")] {
        let wrong = of(json!([useless])).unwrap_err();
        let message = &wrong[0].message;
        assert!(message.contains("no key for HS256 or RS256"), "{wrong:?}");
    }
}

proptest! {
    #[test]
    fn no_input_panics(token in "[A-Za-z0-9_.=-]{0,80}", bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let verifier = of_secret();
        is_good(&verifier, &token);
        verifier.verify(&bytes, &consumers(), NOW_S);
    }

    #[test]
    fn any_signed_payload_is_judged(payload in ".{0,80}") {
        is_good(&of_secret(), &signed(r#"{"alg":"HS256"}"#, &payload));
    }

    #[test]
    fn no_changed_token_is_valid(at in 0_usize..1000, by in 1_u8..128) {
        let token = hs256(&json!({"sub": "alice"}));
        let mut changed = token.clone().into_bytes();
        let at = at % changed.len();
        changed[at] = (changed[at] + by) % 128;
        prop_assert!(of_secret().verify(&changed, &consumers(), NOW_S).is_none());
    }
}
