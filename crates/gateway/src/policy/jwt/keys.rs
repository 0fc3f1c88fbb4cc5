//! Reads the keys of a policy from its settings. A token may be signed with any of the keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatebench_model::policy::{JwtKey, JwtPolicy};
use gatebench_model::{NoRsaKey, RsaNumbers};
use ring::hmac;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::Value;

use super::token::Token;
use crate::config::ConfigError;

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

pub(crate) fn keys(policy: &JwtPolicy) -> Result<Vec<Key>, Vec<ConfigError>> {
    let written = policy.keys.iter().enumerate();
    let written = written
        .map(|(at, key)| from_setting(key).map_err(|wrong| wrong.below(format!("/keys/{at}"))));
    let sets = policy.jwks.iter().flat_map(|set| set.get("keys"));
    let members = sets.flat_map(|keys| keys.as_array().into_iter().flatten());
    let in_set = members.enumerate().filter_map(|(at, key)| {
        let key = from_jwk(key).transpose()?;
        Some(key.map_err(|wrong| wrong.below(format!("/jwks/keys/{at}"))))
    });
    let mut mistakes = Vec::new();
    let good = ConfigError::gather(written.chain(in_set), &mut mistakes);
    if good.is_empty() && mistakes.is_empty() {
        let message = "there is no key for HS256 or RS256, so no token could ever be valid";
        mistakes.push(ConfigError::new(message, "add one to `keys` or `jwks`"));
    }
    ConfigError::unless(mistakes, good)
}

fn from_setting(key: &JwtKey) -> Result<Key, ConfigError> {
    match key {
        JwtKey::Hs256(key) => symmetric(key.secret.as_bytes(), key.id.clone()),
        JwtKey::Rs256(key) => {
            let RsaNumbers { n, e } = key.numbers().map_err(|wrong| {
                let remedy = match wrong {
                    NoRsaKey::NoPem => "write the whole key, beginning with -----BEGIN PUBLIC KEY-----, as `openssl pkey -pubout` prints it",
                    NoRsaKey::OtherKey => "write the RSA public key that `openssl rsa -pubout` prints",
                };
                ConfigError::new(wrong.to_string(), remedy)
            })?;
            rsa(n, e, key.id.clone())
        }
    }
}

/// Prepares a JSON Web Key (RFC 7517, RFC 7518 section 6). Returns `None` for a key of another kind
/// or purpose, because a published set may contain keys for other recipients, and each recipient
/// ignores the keys that it does not support (RFC 7517 section 5).
fn from_jwk(jwk: &Value) -> Result<Option<Key>, ConfigError> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let bytes = |name: &str| {
        let decoded = text(name).and_then(|value| URL_SAFE_NO_PAD.decode(value).ok());
        decoded.ok_or_else(|| {
            let message = format!("`{name}` is missing or is not unpadded Base64url");
            ConfigError::new(message, "add it, or encode it as Base64url without `=`")
        })
    };
    let id = text("kid").map(str::to_owned);
    let fits = |algorithm: &str| {
        text("alg").is_none_or(|alg| alg == algorithm) && text("use").is_none_or(|it| it == "sig")
    };
    match text("kty") {
        Some("oct") if fits("HS256") => symmetric(&bytes("k")?, id).map(Some),
        Some("RSA") if fits("RS256") => rsa(bytes("n")?, bytes("e")?, id).map(Some),
        Some(_) => Ok(None),
        None => Err(ConfigError::new(
            "this is not a key, because it has no `kty`",
            "remove it, or write {kty: oct, k: ...}",
        )),
    }
}

fn symmetric(secret: &[u8], id: Option<String>) -> Result<Key, ConfigError> {
    if secret.len() < 32 {
        let message = "the secret has fewer than the 32 bytes that RFC 7518 requires";
        return Err(ConfigError::new(message, "write a longer one"));
    }
    let material = Material::Hs256(hmac::Key::new(hmac::HMAC_SHA256, secret));
    Ok(Key { id, material })
}

fn rsa(n: Vec<u8>, e: Vec<u8>, id: Option<String>) -> Result<Key, ConfigError> {
    let without_leading_zeros =
        |number: Vec<u8>| -> Vec<u8> { number.into_iter().skip_while(|byte| *byte == 0).collect() };
    let (n, e) = (without_leading_zeros(n), without_leading_zeros(e));
    let zero_bits = n.first().map_or(0, |byte| byte.leading_zeros() as usize);
    let bits = n.len() * 8 - zero_bits;
    if !(2048..=8192).contains(&bits) {
        let message = format!("the RSA key has {bits} bits");
        return Err(ConfigError::new(message, "use a key of 2048 to 8192 bits"));
    }
    let material = Material::Rs256(RsaPublicKeyComponents { n, e });
    Ok(Key { id, material })
}

impl Key {
    /// Reports whether this key signed the token; false if the token names another key (`kid`). The
    /// key determines the algorithm. A token that states a different algorithm is refused, so that
    /// a forger cannot choose a weaker one (RFC 8725 section 3.1).
    pub(crate) fn signed(&self, token: &Token<'_>) -> bool {
        if let (Some(id), Some(named)) = (&self.id, &token.header.kid)
            && id != named
        {
            return false;
        }
        let (signed, signature) = (token.signed, token.signature.as_slice());
        match (&self.material, token.header.alg.as_str()) {
            (Material::Hs256(key), "HS256") => hmac::verify(key, signed, signature).is_ok(),
            (Material::Rs256(key), "RS256") => {
                let algorithm = &RSA_PKCS1_2048_8192_SHA256;
                key.verify(algorithm, signed, signature).is_ok()
            }
            _ => false,
        }
    }
}
