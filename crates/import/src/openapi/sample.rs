//! Generates sample values for schemas.

use serde_json::{Map, Value, json};

use super::resolve::Document;
use crate::regex_sample;

const DEPTH_MAX: usize = 8;

/// The maximum length of a string, and the maximum number of items in an array.
const LENGTH_MAX: u64 = 10_000;

/// The keywords that contain the parts of a schema.
const PARTS: [&str; 3] = ["allOf", "oneOf", "anyOf"];

/// The keywords that contain whole values.
const VALUES: [&str; 5] = ["const", "example", "default", "examples", "enum"];

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
    if let Some(given) = given(schema) {
        return Some(given.clone());
    }
    if PARTS.iter().any(|key| schema.get(key).is_some()) {
        let mut whole = Whole::default();
        whole.add(document, schema, depth)?;
        return whole.value(document, depth);
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

/// Returns the value that the schema itself contains.
fn given(schema: &Value) -> Option<&Value> {
    let mut keys = ["/const", "/example", "/default", "/examples/0", "/enum/0"].into_iter();
    keys.find_map(|key| schema.pointer(key))
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
        _ if schema.get("required").is_some_and(Value::is_array) => "object",
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

/// A schema together with its parts: all of `allOf`, the first of `oneOf`, and the first of
/// `anyOf`.
#[derive(Default)]
struct Whole {
    /// The keywords, which are sampled together, because one part may require a property that
    /// another part describes.
    keywords: Map<String, Value>,
    /// The members of the objects that parts contain, such as examples. An object of one part may
    /// lack members that another part requires.
    given: Map<String, Value>,
    /// True if a part contains an object, which may be empty.
    has_given: bool,
}

impl Whole {
    fn add(&mut self, document: &Document, schema: &Value, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let schema = document.resolved(schema);
        if let Some(Value::Object(members)) = given(schema) {
            self.given.extend(members.clone());
            self.has_given = true;
        }
        for (key, value) in schema.as_object().into_iter().flatten() {
            self.keyword(key, value);
        }
        for key in PARTS {
            let parts = schema.get(key).and_then(Value::as_array);
            let count = if key == "allOf" { usize::MAX } else { 1 };
            for part in parts.into_iter().flatten().take(count) {
                self.add(document, part, depth + 1)?;
            }
        }
        Some(())
    }

    /// Adds a keyword. Of several values, the first counts; only `required` and `properties` are
    /// merged.
    fn keyword(&mut self, key: &str, value: &Value) {
        let Some(known) = self.keywords.get_mut(key) else {
            self.keywords.insert(key.to_owned(), value.clone());
            return;
        };
        match (key, known, value) {
            ("required", Value::Array(known), Value::Array(more)) => known.extend_from_slice(more),
            ("properties", Value::Object(known), Value::Object(more)) => {
                for (name, schema) in more {
                    let schema = match known.remove(name) {
                        Some(first) => json!({ "allOf": [first, schema] }),
                        None => schema.clone(),
                    };
                    known.insert(name.clone(), schema);
                }
            }
            _ => {}
        }
    }

    fn value(mut self, document: &Document, depth: usize) -> Option<Value> {
        let has_given = self.has_given;
        let is_used = |key: &str| PARTS.contains(&key) || (has_given && VALUES.contains(&key));
        self.keywords.retain(|key, _| !is_used(key));
        if let Some(Value::Array(required)) = self.keywords.get_mut("required") {
            let is_given =
                |name: &Value| name.as_str().is_some_and(|it| self.given.contains_key(it));
            required.retain(|name| !is_given(name));
        }
        let sample = value(document, &Value::Object(self.keywords), depth + 1)?;
        let mut members = match sample {
            Value::Object(members) => members,
            other if !has_given => return Some(other),
            _ => Map::new(),
        };
        members.extend(self.given);
        Some(Value::Object(members))
    }
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
    let most = schema.get("maxLength").and_then(Value::as_u64);
    let most = most.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        let range = count(schema, "minLength")..=most.unwrap_or(usize::MAX);
        return regex_sample::sample_of_length(pattern, &range);
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
    let length = least.max(most.map_or(4, |most| most.min(4)));
    Some("x".repeat(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_matches_its_schema() {
        let root = json!({
            "components": { "schemas": {
                "Id": { "type": "integer", "minimum": 5 },
                "Base": { "type": "object", "properties": { "id": { "type": "integer" } } },
                "Pet": { "properties": { "name": {} }, "example": { "name": "Rex" } }
            } }
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
            (
                json!({ "pattern": "^[a-z0-9_]+$", "minLength": 3, "maxLength": 3 }),
                json!("xxx"),
            ),
            (
                json!({ "pattern": "^https?://", "minLength": 12 }),
                json!("http://xxxxx"),
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
            (
                json!({ "allOf": [
                    { "$ref": "#/components/schemas/Base" },
                    { "required": ["id"] },
                    { "description": "An item." }
                ] }),
                json!({ "id": 1 }),
            ),
            (
                json!({ "allOf": [{ "description": "A number." }, { "type": "integer" }] }),
                json!(1),
            ),
            (
                json!({ "allOf": [
                    { "$ref": "#/components/schemas/Pet" },
                    { "properties": { "age": { "type": "integer" } }, "required": ["name", "age"] }
                ] }),
                json!({ "name": "Rex", "age": 1 }),
            ),
            (
                json!({ "properties": { "n": { "type": "integer" } },
                        "oneOf": [{ "properties": { "n": { "minimum": 3 } }, "required": ["n"] },
                                  { "type": "string" }] }),
                json!({ "n": 3 }),
            ),
            (json!({ "required": ["a"] }), json!({ "a": "xxxx" })),
            (json!({ "properties": { "a": {} } }), json!({})),
        ] {
            assert_eq!(sample(schema.clone()), Some(expected), "{schema}");
        }
    }

    #[test]
    fn an_empty_object_of_a_part_hides_no_required_member() {
        let document = Document { root: json!({}) };
        for key in ["default", "example"] {
            let schema = json!({ "allOf": [
                { "type": "object", key: {} },
                { "properties": { "a": { "type": "integer" } }, "required": ["a"] }
            ] });
            assert_eq!(of(&document, &schema), Some(json!({ "a": 1 })), "{key}");
        }
    }

    #[test]
    fn an_unsatisfiable_schema_has_no_sample() {
        let root = json!({ "components": { "schemas": { "A": {
            "type": "array", "items": { "$ref": "#/components/schemas/A" } } } } });
        let endless = Document { root };
        let schema = json!({ "$ref": "#/components/schemas/A" });
        assert_eq!(of(&endless, &schema), None);
        let short = json!({ "pattern": "^a{3}$", "maxLength": 2 });
        assert_eq!(of(&endless, &short), None);
    }
}
