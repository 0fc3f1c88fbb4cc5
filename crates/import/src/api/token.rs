//! Creates signed tokens for requests to routes that require one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

/// The time at which a token expires: the last second of the year 2099.
const EXPIRES: u64 = 4_102_444_799;

/// Returns a token that a gateway with this secret accepts (RFC 7519, HS256).
pub(super) fn hs256(secret: &str, issuer: Option<&str>, audience: Option<&str>) -> String {
    let mut claims = json!({ "sub": "gatebench", "exp": EXPIRES });
    for (claim, value) in [("iss", issuer), ("aud", audience)] {
        if let Some(value) = value {
            claims[claim] = Value::from(value);
        }
    }
    let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let head = encoded(&json!({ "alg": "HS256", "typ": "JWT" }));
    let signed = format!("{head}.{}", encoded(&claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
