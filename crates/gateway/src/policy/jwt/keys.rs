//! The keys that may have signed a token, from their settings.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatebench_model::policy::{JwtKey, JwtPolicy};
use gatebench_model::{NoRsaKey, RsaNumbers};
use ring::hmac;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::Value;

use super::token::Token;
use crate::config::Mistake;

/// A key, ready.
#[derive(Debug)]
pub(crate) struct Key {
    id: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Hs256(hmac::Key),
    Rs256(RsaPublicKeyComponents<Vec<u8>>),
}

/// The keys of a policy.
pub(crate) fn keys(policy: &JwtPolicy) -> Result<Vec<Key>, Vec<Mistake>> {
    let written = policy
        .keys
        .iter()
        .enumerate()
        .map(|(at, key)| from_setting(key).map_err(|message| (format!("/keys/{at}"), message)));
    let sets = policy.jwks.iter().flat_map(|set| set.get("keys"));
    let members = sets.flat_map(|keys| keys.as_array().into_iter().flatten());
    let in_set = members.enumerate().filter_map(|(at, key)| {
        let key = from_jwk(key).transpose()?;
        Some(key.map_err(|message| (format!("/jwks/keys/{at}"), message)))
    });
    let mut good = Vec::new();
    let mut mistakes = Vec::new();
    for key in written.chain(in_set) {
        match key {
            Ok(key) => good.push(key),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if good.is_empty() && mistakes.is_empty() {
        mistakes.push((
            String::new(),
            "no key for HS256 or RS256, so no token could ever be good; add one to `keys` or `jwks`".into(),
        ));
    }
    if mistakes.is_empty() {
        Ok(good)
    } else {
        Err(mistakes)
    }
}

fn from_setting(key: &JwtKey) -> Result<Key, String> {
    match key {
        JwtKey::Hs256(key) => symmetric(key.secret.as_bytes(), key.id.clone()),
        JwtKey::Rs256(key) => {
            let RsaNumbers { n, e } = key.numbers().map_err(|wrong| {
                let remedy = match wrong {
                    NoRsaKey::NoPem => "write it from -----BEGIN PUBLIC KEY----- on, as `openssl pkey -pubout` prints it",
                    NoRsaKey::OtherKey => "write one, as `openssl rsa -pubout` prints it",
                };
                format!("{wrong}; {remedy}")
            })?;
            rsa(n, e, key.id.clone())
        }
    }
}

/// A JSON Web Key (RFC 7517, RFC 7518 section 6); nothing for one that is of another kind, or not for signatures: sets are
/// published with keys for everybody, and a reader leaves out those that are not for it (RFC 7517 section 5).
fn from_jwk(jwk: &Value) -> Result<Option<Key>, String> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let bytes = |name: &str| {
        text(name)
            .and_then(|value| URL_SAFE_NO_PAD.decode(value).ok())
            .ok_or_else(|| format!("`{name}` is not there in Base64url without padding; add it"))
    };
    let id = text("kid").map(str::to_owned);
    let fits = |algorithm: &str| {
        text("alg").is_none_or(|alg| alg == algorithm) && text("use").is_none_or(|it| it == "sig")
    };
    match text("kty") {
        Some("oct") if fits("HS256") => symmetric(&bytes("k")?, id).map(Some),
        Some("RSA") if fits("RS256") => rsa(bytes("n")?, bytes("e")?, id).map(Some),
        Some(_) => Ok(None),
        None => {
            Err("this is no key, as it has no `kty`; remove it, or write {kty: oct, k: ...}".into())
        }
    }
}

fn symmetric(secret: &[u8], id: Option<String>) -> Result<Key, String> {
    if secret.len() < 32 {
        return Err(
            "the secret has less than 32 bytes, which RFC 7518 asks for; write a longer one".into(),
        );
    }
    let material = Material::Hs256(hmac::Key::new(hmac::HMAC_SHA256, secret));
    Ok(Key { id, material })
}

fn rsa(n: Vec<u8>, e: Vec<u8>, id: Option<String>) -> Result<Key, String> {
    // The length in bits, without the zero bytes before the first one that is set.
    let significant = n.iter().skip_while(|&&byte| byte == 0);
    let bytes = significant.clone().count();
    let bits = bytes * 8
        - significant
            .take(1)
            .map(|byte| byte.leading_zeros() as usize)
            .sum::<usize>();
    if !(2048..=8192).contains(&bits) {
        return Err(format!(
            "an RSA key of {bits} bits; write one of 2048 to 8192 bits"
        ));
    }
    let strip = |mut number: Vec<u8>| {
        let zeros = number.iter().take_while(|&&byte| byte == 0).count();
        number.drain(..zeros);
        number
    };
    let (n, e) = (strip(n), strip(e));
    let material = Material::Rs256(RsaPublicKeyComponents { n, e });
    Ok(Key { id, material })
}

impl Key {
    /// Whether this key signed the token. The algorithm is the key's: the token must only agree, so that
    /// none can choose a weaker one (RFC 8725 section 3.1).
    pub(crate) fn signed(&self, token: &Token<'_>) -> bool {
        if let (Some(id), Some(named)) = (&self.id, &token.header.kid)
            && id != named
        {
            return false;
        }
        match &self.material {
            Material::Hs256(key) => {
                token.header.alg == "HS256"
                    && hmac::verify(key, token.signed, &token.signature).is_ok()
            }
            Material::Rs256(key) => {
                token.header.alg == "RS256"
                    && key
                        .verify(&RSA_PKCS1_2048_8192_SHA256, token.signed, &token.signature)
                        .is_ok()
            }
        }
    }
}
