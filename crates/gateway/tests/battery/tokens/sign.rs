//! Assembles tokens by hand, so that they can be malformed, and signs them with ring.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair};

use crate::programs::run;

pub const SECRET: &str = "a secret of more than thirty-two bytes, for tests";
pub const OTHER_SECRET: &str = "another secret of more than thirty-two bytes, for tests";

/// A header with `alg` and `typ`, as most issuers write it.
pub const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// Claims that are valid for every route.
pub const CLAIMS: &str = r#"{"iss":"me","aud":"api","sub":"alice","exp":4102444800}"#;

pub fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the part of a token that is signed.
pub fn unsigned(header: impl AsRef<[u8]>, claims: impl AsRef<[u8]>) -> String {
    format!("{}.{}", base64url(header), base64url(claims))
}

pub fn signed(secret: &[u8], header: impl AsRef<[u8]>, claims: impl AsRef<[u8]>) -> String {
    signed_by(hmac::HMAC_SHA256, secret, header, claims)
}

pub fn signed_by(
    algorithm: hmac::Algorithm,
    secret: &[u8],
    header: impl AsRef<[u8]>,
    claims: impl AsRef<[u8]>,
) -> String {
    let text = unsigned(header, claims);
    let tag = hmac::sign(&hmac::Key::new(algorithm, secret), text.as_bytes());
    format!("{text}.{}", base64url(tag))
}

pub fn good() -> String {
    signed(SECRET.as_bytes(), HEADER, CLAIMS)
}

pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

pub struct Rsa {
    pair: RsaKeyPair,
    pub public_pem: String,
}

impl Rsa {
    pub fn make() -> Self {
        let size = "rsa_keygen_bits:2048";
        let make = ["genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", size];
        // `genpkey -outform DER` writes PKCS #1 in some OpenSSL versions and PKCS #8 in others.
        let convert = ["pkcs8", "-topk8", "-nocrypt", "-outform", "DER"];
        let private = openssl(&convert, &openssl(&make, b""));
        let public = openssl(&["pkey", "-inform", "DER", "-pubout"], &private);
        Self {
            pair: RsaKeyPair::from_pkcs8(&private).unwrap(),
            public_pem: String::from_utf8(public).unwrap(),
        }
    }

    pub fn signed(&self, header: &str, claims: &str) -> String {
        let text = unsigned(header, claims);
        format!(
            "{text}.{}",
            base64url(self.signature(&RSA_PKCS1_SHA256, &text))
        )
    }

    /// Signs with SHA-512 instead of the SHA-256 that RS256 requires.
    pub fn signed_with_sha512(&self, header: &str, claims: &str) -> String {
        let text = unsigned(header, claims);
        format!(
            "{text}.{}",
            base64url(self.signature(&RSA_PKCS1_SHA512, &text))
        )
    }

    fn signature(&self, encoding: &'static dyn RsaEncoding, text: &str) -> Vec<u8> {
        let mut signature = vec![0; self.pair.public().modulus_len()];
        let random = SystemRandom::new();
        let signing = self
            .pair
            .sign(encoding, &random, text.as_bytes(), &mut signature);
        signing.unwrap();
        signature
    }
}

fn openssl(words: &[&str], input: &[u8]) -> Vec<u8> {
    run("openssl", words, input)
}
