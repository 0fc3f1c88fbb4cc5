//! Compiled schemas of a document, with the formats that OpenAPI defines and JSON Schema does not:
//! 32-bit and 64-bit integers and, in OpenAPI 3.0, bytes in Base64.
//!
//! Values that violate these formats are refused. `float`, `double`, `binary` and `password` reject
//! no JSON value, because any number can be rounded to a `float` or `double`, and any string is a
//! valid `binary` or `password`.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use jsonschema::{Draft, PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::config::ConfigError;

/// The base URI of the document, which references within it are resolved against.
const BASE: &str = "urn:gatebench:document";

/// The maximum number of backtracking steps in matching one string against a pattern that the
/// linear-time engine does not support, such as one with look-around.
const BACKTRACKS_MAX: usize = 10_000;

/// The maximum length of the description of a mistake, in characters.
const WORDS_MAX: usize = 300;

pub(super) struct Schemas {
    registry: Registry<'static>,
    draft: Draft,
}

impl Schemas {
    pub(super) fn new(root: &Value, is_30: bool) -> Result<Self, ConfigError> {
        let draft = if is_30 {
            Draft::Draft4
        } else {
            Draft::Draft202012
        };
        let registry = Registry::new()
            .draft(draft)
            .add(BASE, root.clone())
            .and_then(|builder| builder.prepare())
            .map_err(|error| {
                let message = format!("the document's references cannot be followed: {error}");
                ConfigError::new(message, "correct them")
            })?;
        Ok(Self { registry, draft })
    }

    /// Compiles the schema at a pointer. Patterns are matched in linear time if possible.
    pub(super) fn compile(&self, pointer: &str) -> Result<Schema, ConfigError> {
        let reference = json!({ "$ref": format!("{BASE}#{}", fragment(pointer)) });
        let options = || {
            let options = jsonschema::options()
                .with_draft(self.draft)
                .with_registry(&self.registry)
                .should_validate_formats(true)
                .should_ignore_unknown_formats(true)
                .offline();
            match self.draft {
                Draft::Draft4 => options
                    .with_format("byte", is_byte)
                    .with_format("uuid", is_uuid),
                _ => options,
            }
        };
        let linear = options().with_pattern_options(PatternOptions::regex());
        let looking = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
        let made = linear.build(&reference);
        made.or_else(|_| options().with_pattern_options(looking).build(&reference))
            .map(|validator| Schema { validator })
            .map_err(|error| {
                let message = format!("the schema cannot be used: {error}");
                ConfigError::new(message, "correct it").below(pointer)
            })
    }
}

/// Encodes a JSON Pointer as a URI fragment.
fn fragment(pointer: &str) -> String {
    let mut out = String::new();
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"/~-._".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator,
}

impl Schema {
    pub(super) fn judge(&self, value: &Value) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let first = self.validator.iter_errors(value).next();
        Err(first.map_or_else(
            || "it does not match the schema".into(),
            |error| described(&error),
        ))
    }
}

fn described(error: &ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    let words = error.to_string();
    let words = match words.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words,
    };
    if at.is_empty() {
        words
    } else {
        format!("at {at}: {words}")
    }
}

/// Base64 with padding (RFC 4648 4). The unused bits of the last character may have any value,
/// because most decoders ignore them.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Bounds a number by the range of its format (OpenAPI 3.0.3 4.4, 3.1.0 4.4).
pub(super) fn bound(schema: &mut Map<String, Value>) {
    let (least, most) = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Some("int64") => (i64::MIN, i64::MAX),
        _ => return,
    };
    let bounds = json!({"minimum": least, "maximum": most});
    // Under `allOf`, these bounds apply in addition to the schema's own.
    match schema.get_mut("allOf") {
        Some(Value::Array(all)) => all.push(bounds),
        _ => drop(schema.insert("allOf".into(), json!([bounds]))),
    }
}

fn is_byte(text: &str) -> bool {
    BASE64.decode(text).is_ok()
}

/// Checks the format `uuid` (RFC 9562 4), which OpenAPI 3.0's draft of JSON Schema does not define.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths = groups.iter().map(|group| group.len());
    lengths.eq([8, 4, 4, 4, 12]) && groups.concat().bytes().all(|byte| byte.is_ascii_hexdigit())
}
