//! The parts of a token (RFC 7515 section 3.1) and their contents.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The maximum size of a token in bytes; longer tokens are refused without being parsed.
pub(crate) const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// A token split into its parts. Nothing in it has been verified.
#[derive(Debug)]
pub(crate) struct Token<'t> {
    /// The bytes that were signed: header and payload as sent, with the dot between them.
    pub(crate) signed: &'t [u8],
    pub(crate) header: Header,
    payload: &'t [u8],
    pub(crate) signature: Vec<u8>,
}

/// The header parameters (RFC 7515 section 4.1) that matter here.
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) alg: String,
    pub(crate) kid: Option<String>,
    /// Extensions that a recipient must understand. The gateway supports none, so it refuses tokens
    /// with this parameter.
    crit: Option<serde::de::IgnoredAny>,
}

/// The claims (RFC 7519 section 4.1) that the gateway uses. A token that repeats one of them is
/// refused.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: Option<String>,
    pub(crate) sub: Option<String>,
    pub(crate) aud: Option<Audience>,
    /// Seconds since 1970, perhaps with a fraction.
    pub(crate) exp: Option<f64>,
    pub(crate) nbf: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    pub(crate) fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(one) => one == name,
            Self::Several(names) => names.iter().any(|one| one == name),
        }
    }
}

impl<'t> Token<'t> {
    /// Splits a token into its parts; `None` if it is malformed, longer than [`TOKEN_BYTES_MAX`],
    /// or has the parameter `crit`.
    pub(crate) fn parse(token: &'t [u8]) -> Option<Self> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let last_dot = token.iter().rposition(|&byte| byte == b'.')?;
        let (signed, signature) = (&token[..last_dot], &token[last_dot + 1..]);
        let first_dot = signed.iter().position(|&byte| byte == b'.')?;
        let payload = &signed[first_dot + 1..];
        if payload.contains(&b'.') {
            return None;
        }
        let header = URL_SAFE_NO_PAD.decode(&signed[..first_dot]).ok()?;
        let header: Header = object(&header)?;
        if header.crit.is_some() {
            return None;
        }
        Some(Self {
            signed,
            header,
            payload,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }

    /// Parses the claims. Call this only after verifying the signature.
    pub(crate) fn claims(&self) -> Option<Claims> {
        let payload = URL_SAFE_NO_PAD.decode(self.payload).ok()?;
        object(&payload)
    }
}

/// Parses a JSON object. Serde would also fill a struct from an array, whose members have no names.
fn object<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().first() == Some(&b'{');
    is_object.then(|| serde_json::from_slice(json).ok())?
}
