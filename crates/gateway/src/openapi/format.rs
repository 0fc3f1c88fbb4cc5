//! Formats that OpenAPI defines and JSON Schema does not: integers of 32 and 64 bits, and bytes in
//! Base64.
//!
//! They are checked like the formats of JSON Schema. `float`, `double`, `binary` and `password`
//! reject no JSON value: a number is rounded to the nearest one, and any text is octets.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value, json};

/// Base64 with padding (RFC 4648 4). Unused bits may have any value, as most readers allow.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Bounds a number by the size of its format (OpenAPI 3.0.3 4.4, 3.1.0 4.4).
pub(super) fn bound(schema: &mut Map<String, Value>) {
    let (least, most) = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Some("int64") => (i64::MIN, i64::MAX),
        _ => return,
    };
    let bounds = json!({"minimum": least, "maximum": most});
    // The schema's own bounds also apply.
    match schema.get_mut("allOf") {
        Some(Value::Array(all)) => all.push(bounds),
        _ => drop(schema.insert("allOf".into(), json!([bounds]))),
    }
}

/// The format `byte` of OpenAPI 3.0.
pub(super) fn is_byte(text: &str) -> bool {
    BASE64.decode(text).is_ok()
}

/// The format `uuid` (RFC 9562 4), which the draft of JSON Schema that OpenAPI 3.0 uses does not
/// define yet.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths = groups.iter().map(|group| group.len());
    lengths.eq([8, 4, 4, 4, 12]) && groups.concat().bytes().all(|byte| byte.is_ascii_hexdigit())
}
