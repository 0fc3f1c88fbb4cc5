//! The document as a tree: its version, its references, and its schemas made to mean what JSON Schema does.

use serde_json::{Map, Value};

use super::format;
use super::schema::Schemas;

/// References that are followed one after the other.
const REFERENCES_MAX: usize = 32;

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// A document whose version is known.
pub(super) struct Document {
    root: Value,
    of_requests: Schemas,
    /// Where they differ from those of requests.
    of_answers: Option<Schemas>,
}

/// What a schema is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Answer,
}

impl Document {
    /// Reads JSON or YAML.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let mut root: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text)
                .map_err(|error| format!("this is not JSON: {error}; correct it there"))?
        } else {
            gatebench_config::yaml_value(text)?
        };
        let version = root.get("openapi").and_then(Value::as_str).unwrap_or("");
        let is_30 = version.starts_with("3.0.");
        if !is_30 && !version.starts_with("3.1.") {
            return Err(
                "this is neither OpenAPI 3.0 nor 3.1; name one that begins with `openapi: 3.1.0`"
                    .into(),
            );
        }
        let mut of_answers = None;
        for_each_schema(&mut root, &mut format::bound);
        if is_30 {
            for_each_schema(&mut root, &mut |schema| translate(schema));
            of_answers = apart(&mut root);
        }
        let of_answers = of_answers.map(|answers| Schemas::new(&answers, is_30));
        Ok(Self {
            of_requests: Schemas::new(&root, is_30)?,
            of_answers: of_answers.transpose()?,
            root,
        })
    }

    /// The schemas of a direction.
    pub(super) fn schemas(&self, direction: Direction) -> &Schemas {
        match (&self.of_answers, direction) {
            (Some(of_answers), Direction::Answer) => of_answers,
            _ => &self.of_requests,
        }
    }

    /// Path templates, each with the pointer to what is said of it.
    pub(super) fn path_items(&self) -> Vec<(String, String)> {
        let paths = self.root.get("paths").and_then(Value::as_object);
        let names = paths.into_iter().flat_map(Map::keys);
        let names = names.filter(|name| name.starts_with('/'));
        names
            .map(|name| {
                let pointer = format!("/paths/{}", escape(name));
                (name.clone(), self.resolve(&pointer))
            })
            .collect()
    }

    /// The methods of a path item.
    pub(super) fn methods(&self, item: &str) -> impl Iterator<Item = &'static str> {
        METHODS.into_iter().filter(|method| {
            self.at(item)
                .is_some_and(|item| item.get(*method).is_some())
        })
    }

    pub(super) fn at(&self, pointer: &str) -> Option<&Value> {
        self.root.pointer(pointer)
    }

    /// Where a value stands that may be a reference to another place of the document.
    pub(super) fn resolve(&self, pointer: &str) -> String {
        let mut pointer = pointer.to_owned();
        for _ in 0..REFERENCES_MAX {
            let reference = self.at(&pointer).and_then(|value| value.get("$ref"));
            let Some(reference) = reference.and_then(Value::as_str) else {
                break;
            };
            match reference.strip_prefix('#') {
                Some(next) => pointer = decoded(next),
                // Compiling it will say that it is not there.
                None => break,
            }
        }
        pointer
    }

    /// The pointers below a map, by key.
    pub(super) fn entries(&self, pointer: &str) -> Vec<(String, String)> {
        let map = self.at(pointer).and_then(Value::as_object);
        let keys = map.into_iter().flat_map(Map::keys);
        keys.map(|key| (key.clone(), format!("{pointer}/{}", escape(key))))
            .collect()
    }

    pub(super) fn text(&self, pointer: &str, key: &str) -> Option<&str> {
        self.at(pointer)?.get(key)?.as_str()
    }

    pub(super) fn flag(&self, pointer: &str, key: &str) -> Option<bool> {
        self.at(pointer)?.get(key)?.as_bool()
    }
}

/// A key as a token of a JSON Pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A fragment is a pointer with some bytes as `%XX` (RFC 6901 6).
fn decoded(fragment: &str) -> String {
    let mut buffer = vec![0; fragment.len()];
    let fragment_without_blanks = fragment.replace('+', "%2B");
    buffer.resize(fragment_without_blanks.len(), 0);
    let length = crate::path::query::decode(&fragment_without_blanks, &mut buffer);
    buffer.truncate(length.unwrap_or_default());
    String::from_utf8(buffer).unwrap_or_default()
}

/// Hands every schema of a document on, the outer ones first. What is an example, a default or a
/// constant is none, though it may look like one.
fn for_each_schema(value: &mut Value, act: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_schema(item, act)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "example" | "examples" | "default" | "enum" => {}
                    "schema" => schema(value, act),
                    "schemas" => each_value(value, |value| schema(value, act)),
                    _ => for_each_schema(value, act),
                }
            }
        }
        _ => {}
    }
}

/// A schema and those in it.
fn schema(value: &mut Value, act: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = value else { return };
    act(map);
    for (key, value) in map.iter_mut() {
        match key.as_str() {
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                each_value(value, |value| schema(value, act));
            }
            "items"
            | "not"
            | "additionalProperties"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => schema(value, act),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                if let Value::Array(items) = value {
                    items.iter_mut().for_each(|item| schema(item, act));
                }
            }
            _ => {}
        }
    }
}

fn each_value(value: &mut Value, mut act: impl FnMut(&mut Value)) {
    if let Value::Object(map) = value {
        map.values_mut().for_each(&mut act);
    }
}

/// Makes a schema of OpenAPI 3.0 one of JSON Schema draft 4, from which it differs in `nullable` alone as
/// far as validation goes, where it does not matter who sends what ([`apart`]). It has a meaning only where there
/// is a type.
fn translate(schema: &mut Map<String, Value>) {
    let is_nullable = schema.get("nullable") == Some(&Value::Bool(true));
    if is_nullable && let Some(Value::String(kind)) = schema.get("type") {
        let both = vec![Value::String(kind.clone()), Value::String("null".into())];
        schema.insert("type".into(), Value::Array(both));
    }
}

/// A document of OpenAPI 3.0 as it is for answers, where that is another one; what is given is as it is for requests then:
/// what may only be read need not be sent, and what may only be written need not be answered, though it is required
/// (OpenAPI 3.0.3 4.7.24.2).
fn apart(root: &mut Value) -> Option<Value> {
    let written = root.clone();
    let mut answers = root.clone();
    let mut differ = false;
    for (document, flag) in [(root, "readOnly"), (&mut answers, "writeOnly")] {
        for_each_schema(document, &mut |schema| {
            differ |= relieve(schema, flag, &written)
        });
    }
    differ.then_some(answers)
}

/// Requires no property any more that has this flag; answers whether one was.
fn relieve(schema: &mut Map<String, Value>, flag: &str, document: &Value) -> bool {
    let properties = schema.get("properties");
    let has_flag = |name: &Value| {
        let property = properties
            .zip(name.as_str())
            .and_then(|(all, name)| all.get(name));
        let reference = property.and_then(|it| it.get("$ref")?.as_str()?.strip_prefix('#'));
        let property = match reference {
            Some(pointer) => document.pointer(&decoded(pointer)),
            None => property,
        };
        property.is_some_and(|it| it.get(flag) == Some(&Value::Bool(true)))
    };
    let Some(Value::Array(required)) = schema.get("required") else {
        return false;
    };
    let kept: Vec<Value> = required
        .iter()
        .filter(|name| !has_flag(name))
        .cloned()
        .collect();
    let differs = kept.len() < required.len();
    match kept.is_empty() {
        // Draft 4 knows no empty list there.
        true => schema.remove("required"),
        false => schema.insert("required".into(), Value::Array(kept)),
    };
    differs
}
