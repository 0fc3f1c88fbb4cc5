//! The body of a request, and its form in files.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_config::schema_fragments;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The maximum length of a filler body, equal to the limit of the embedded upstreams for any body.
const FILLER_BYTES_MAX: u64 = 128 << 20;

pub const FILLER: char = 'x';

/// The body of a request: text, written as a plain string; any bytes, written as `{base64: ...}`;
/// or a filler of the given length, written as `{filler_bytes: 1048576}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The bytes, shared because scenarios are copied often and a body may be long.
    bytes: Arc<[u8]>,
    is_filler: bool,
}

impl Body {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into().into(),
            is_filler: false,
        }
    }

    /// A body of `length` bytes, each of which is [`FILLER`].
    pub fn filler(length: usize) -> Self {
        Self {
            bytes: vec![FILLER as u8; length].into(),
            is_filler: true,
        }
    }

    /// Returns the length of a filler body in bytes, or `None` for any other body.
    pub fn filler_bytes(&self) -> Option<usize> {
        self.is_filler.then_some(self.bytes.len())
    }

    /// The bytes to send or, for text, the template.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the body as text, or `None` if it is not UTF-8 or is a filler.
    pub fn text(&self) -> Option<&str> {
        if self.is_filler {
            return None;
        }
        std::str::from_utf8(&self.bytes).ok()
    }
}

/// A body as it is written in files.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenBody {
    /// The body itself.
    Text(String),
    /// Any bytes, or a filler.
    Made(MadeBody),
}

/// A body that is not written literally.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MadeBody {
    /// The bytes in Base64 (RFC 4648 section 4).
    Base64(#[schemars(schema_with = "schema_fragments::base64")] String),
    /// The number of bytes, up to 128 MiB, if their content does not matter. Each connection of the
    /// load keeps its own copy.
    FillerBytes(#[schemars(range(min = 1, max = 134_217_728))] u64),
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_filler {
            return MadeBody::FillerBytes(self.bytes.len() as u64).serialize(serializer);
        }
        match self.text() {
            Some(text) => serializer.serialize_str(text),
            None => MadeBody::Base64(STANDARD.encode(&self.bytes)).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match WrittenBody::deserialize(deserializer)? {
            WrittenBody::Text(text) => Ok(Self::new(text)),
            WrittenBody::Made(MadeBody::Base64(base64)) => STANDARD
                .decode(base64)
                .map(Self::new)
                .map_err(serde::de::Error::custom),
            WrittenBody::Made(MadeBody::FillerBytes(length)) => match usize::try_from(length) {
                Ok(bytes) if length <= FILLER_BYTES_MAX => Ok(Self::filler(bytes)),
                _ => Err(serde::de::Error::custom("a filler cannot exceed 128 MiB")),
            },
        }
    }
}

impl JsonSchema for Body {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Body".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenBody::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filler_is_stored_as_its_length() {
        let body: Body = serde_json::from_str(r#"{"filler_bytes": 3}"#).unwrap();
        assert_eq!((body.bytes(), body.text()), (&b"xxx"[..], None));
        assert_eq!(
            serde_json::to_string(&body).unwrap(),
            r#"{"filler_bytes":3}"#
        );
        assert!(serde_json::from_str::<Body>(r#"{"filler_bytes": 134217729}"#).is_err());
    }
}
