//! Generates sample values for schemas.

use serde_json::{Map, Value, json};

use super::resolve::Document;
use crate::regex_sample;

const DEPTH_MAX: usize = 8;

/// The maximum length of a string, and the maximum number of items in an array.
const LENGTH_MAX: u64 = 10_000;

/// Returns a value for a schema, or `None` if none can be generated. Only common keywords are taken
/// into account, so the value may violate others, such as `uniqueItems` or `not`.
pub(super) fn of(document: &Document, schema: &Value) -> Option<Value> {
    value(document, schema, 0)
}

fn value(document: &Document, schema: &Value, depth: usize) -> Option<Value> {
    let schema = document.resolved(schema);
    if depth > DEPTH_MAX {
        return None;
    }
    let examples = schema.get("examples").and_then(|it| it.get(0));
    let mut keys = ["const", "example", "default"].into_iter();
    let given = keys.find_map(|key| schema.get(key));
    if let Some(given) = given.or(examples).or_else(|| schema.pointer("/enum/0")) {
        return Some(given.clone());
    }
    if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
        return merged(document, schema, all, depth);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(first) = schema.get(key).and_then(|it| it.get(0)) {
            return value(document, first, depth + 1);
        }
    }
    match kind(schema) {
        "object" => object(document, schema, depth).map(Value::Object),
        "array" => {
            let count = count(schema, "minItems").max(1);
            let item = schema.get("items").unwrap_or(&Value::Null);
            let item = value(document, item, depth + 1)?;
            Some(Value::Array((0..count).map(|_| item.clone()).collect()))
        }
        "integer" | "number" => Some(number(schema)),
        "boolean" => Some(Value::Bool(true)),
        "null" => Some(Value::Null),
        _ => text(schema).map(Value::from),
    }
}

/// Returns the schema's type or, if there are several, the first one other than null. A missing
/// type is derived from the other keywords.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

/// Returns an object with only the required members.
fn object(document: &Document, schema: &Value, depth: usize) -> Option<Map<String, Value>> {
    let mut members = Map::new();
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten() {
        let name = name.as_str()?;
        let property = schema.get("properties").and_then(|it| it.get(name));
        let property = value(document, property.unwrap_or(&Value::Null), depth + 1)?;
        members.insert(name.to_owned(), property);
    }
    Some(members)
}

/// Returns an object with the members that the schema itself or any of its parts requires. If the
/// value of a part is not an object, returns that value.
fn merged(document: &Document, schema: &Value, parts: &[Value], depth: usize) -> Option<Value> {
    let mut members = object(document, schema, depth)?;
    for part in parts {
        match value(document, part, depth + 1)? {
            Value::Object(more) => members.extend(more),
            other => return Some(other),
        }
    }
    Some(Value::Object(members))
}

fn count(schema: &Value, key: &str) -> usize {
    let count = schema.get(key).and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(count.min(LENGTH_MAX)).unwrap_or(0)
}

fn number(schema: &Value) -> Value {
    let least = schema.get("minimum").and_then(Value::as_f64);
    let above = match schema.get("exclusiveMinimum") {
        Some(Value::Bool(true)) => least.map(|it| it + 1.0),
        Some(other) => other.as_f64().map(|it| it + 1.0),
        None => None,
    };
    let most = schema.get("maximum").and_then(Value::as_f64);
    let mut number = above.or(least).unwrap_or(1.0).min(most.unwrap_or(f64::MAX));
    let step = schema.get("multipleOf").and_then(Value::as_f64);
    if let Some(step) = step.filter(|it| *it > 0.0) {
        number = (number / step).ceil() * step;
    }
    match number.fract() == 0.0 && number.abs() < 1e15 {
        true => json!(number as i64),
        false => json!(number),
    }
}

fn text(schema: &Value) -> Option<String> {
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        return regex_sample::sample(pattern);
    }
    let known = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2025-01-31",
        Some("date-time") => "2025-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email" | "idn-email") => "someone@example.com",
        Some("uuid") => "123e4567-e89b-42d3-a456-426614174000",
        Some("uri" | "url" | "iri") => "https://example.com/",
        Some("hostname" | "idn-hostname") => "example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        Some("byte") => "eA==",
        _ => "",
    };
    if !known.is_empty() {
        return Some(known.into());
    }
    let least = count(schema, "minLength").max(1);
    let most = schema.get("maxLength").and_then(Value::as_u64);
    let length = least.max(most.map_or(4, |most| most.min(4) as usize));
    Some("x".repeat(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_matches_its_schema() {
        let root = json!({
            "components": { "schemas": { "Id": { "type": "integer", "minimum": 5 } } }
        });
        let document = Document { root };
        let sample = |schema: Value| of(&document, &schema);
        for (schema, expected) in [
            (json!({ "$ref": "#/components/schemas/Id" }), json!(5)),
            (
                json!({ "type": ["null", "string"], "maxLength": 2 }),
                json!("xx"),
            ),
            (
                json!({ "type": "string", "pattern": "^[A-Z]{3}$" }),
                json!("AAA"),
            ),
            (json!({ "enum": ["a", "b"] }), json!("a")),
            (
                json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 2 }),
                json!([true, true]),
            ),
            (
                json!({ "allOf": [{ "properties": { "a": {} }, "required": ["a"] }],
                        "properties": { "b": { "type": "number" } }, "required": ["b"] }),
                json!({ "b": 1, "a": "xxxx" }),
            ),
            (json!({ "properties": { "a": {} } }), json!({})),
        ] {
            assert_eq!(sample(schema.clone()), Some(expected), "{schema}");
        }
        let root = json!({ "components": { "schemas": { "A": {
            "type": "array", "items": { "$ref": "#/components/schemas/A" } } } } });
        let endless = Document { root };
        let schema = json!({ "$ref": "#/components/schemas/A" });
        assert_eq!(of(&endless, &schema), None);
    }
}
