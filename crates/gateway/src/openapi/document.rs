//! Reads the document into a tree, checks its version, follows its references, and converts its
//! schemas to JSON Schema.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::schema::{self, Schemas};
use crate::config::ConfigError;
use crate::path::query;

/// The maximum number of references that are followed in a row.
const REFERENCES_MAX: usize = 32;

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

pub(super) struct Document {
    root: Value,
    of_requests: Schemas,
    /// The schemas for responses; `None` if they equal those for requests.
    of_responses: Option<Schemas>,
}

/// The direction of a message, which selects the schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Response,
}

impl Document {
    /// Parses JSON or YAML.
    pub(super) fn read(text: &str) -> Result<Self, ConfigError> {
        let text = text.trim_start_matches('\u{feff}');
        let mut root: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| {
                ConfigError::new(
                    format!("this is not JSON: {error}"),
                    "correct it at that position",
                )
            })?
        } else {
            gatebench_config::yaml_value(text).map_err(|error| error.to_string())?
        };
        let version = root.get("openapi").and_then(Value::as_str).unwrap_or("");
        let is_30 = version.starts_with("3.0.");
        if !is_30 && !version.starts_with("3.1.") {
            let message = "this is neither OpenAPI 3.0 nor 3.1";
            let remedy = "use a document with, for example, `openapi: 3.1.0`";
            return Err(ConfigError::new(message, remedy));
        }
        let mut of_responses = None;
        for_each_schema(&mut root, &mut schema::bound);
        if is_30 {
            for_each_schema(&mut root, &mut |schema| translate(schema));
            of_responses = apart(&mut root);
        }
        let of_responses = of_responses.map(|responses| Schemas::new(&responses, is_30));
        Ok(Self {
            of_requests: Schemas::new(&root, is_30)?,
            of_responses: of_responses.transpose()?,
            root,
        })
    }

    pub(super) fn schemas(&self, direction: Direction) -> &Schemas {
        match (&self.of_responses, direction) {
            (Some(of_responses), Direction::Response) => of_responses,
            _ => &self.of_requests,
        }
    }

    /// Returns the path templates, each with the pointer to its path item.
    pub(super) fn path_items(&self) -> impl Iterator<Item = Result<(String, String), ConfigError>> {
        let paths = self.entries("/paths").into_iter();
        let paths = paths.filter(|(template, _)| template.starts_with('/'));
        paths.map(|(template, place)| self.resolve(&place).map(|pointer| (template, pointer)))
    }

    /// Returns the HTTP methods that a path item defines, in lower case.
    pub(super) fn methods(&self, item: &str) -> impl Iterator<Item = &'static str> {
        METHODS.into_iter().filter(|method| {
            self.at(item)
                .is_some_and(|item| item.get(*method).is_some())
        })
    }

    pub(super) fn at(&self, pointer: &str) -> Option<&Value> {
        self.root.pointer(pointer)
    }

    /// Returns the pointer to a value, following references within the document. Fails if one of
    /// them leads to nothing or to another document, or if more than [`REFERENCES_MAX`] follow one
    /// another.
    pub(super) fn resolve(&self, pointer: &str) -> Result<String, ConfigError> {
        let mut found = pointer.to_owned();
        for _ in 0..=REFERENCES_MAX {
            let Some(reference) = self.text(&found, "$ref") else {
                return Ok(found);
            };
            let next = reference.strip_prefix('#').map(decoded);
            let Some(next) = next.filter(|next| self.at(next).is_some()) else {
                let message = format!("the reference {reference} cannot be followed");
                let remedy = "refer to a part of this document, as in #/components/responses/NAME";
                return Err(ConfigError::new(message, remedy).below(found));
            };
            found = next;
        }
        let message = format!("more than {REFERENCES_MAX} references follow one another");
        Err(ConfigError::new(message, "refer to the part itself").below(pointer))
    }

    /// Returns the pointers to the items of an array.
    pub(super) fn items(&self, pointer: &str) -> impl Iterator<Item = String> {
        let items = self.at(pointer).and_then(Value::as_array);
        let count = items.map_or(0, Vec::len);
        (0..count).map(move |at| format!("{pointer}/{at}"))
    }

    /// Returns the keys of a map, each with the pointer to its value.
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

/// Escapes a key as a token of a JSON Pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Decodes a fragment: a JSON Pointer with some bytes written as `%XX` (RFC 6901 6).
fn decoded(fragment: &str) -> String {
    let decoded = query::decoded(fragment, false);
    decoded.map_or(String::new(), Cow::into_owned)
}

/// Calls a function for every schema of a document, outer schemas first. Examples, defaults and
/// enum values are skipped, even if they look like schemas.
fn for_each_schema(value: &mut Value, act: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(_) => each_value(value, |item| for_each_schema(item, act)),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "example" | "examples" | "default" | "enum" => {}
                    "schema" => schema(value, act),
                    "schemas" => each_value(value, |value| schema(value, act)),
                    // The keys of these maps are names, even if they are `default` or `example`.
                    "responses" | "parameters" | "headers" | "requestBodies" | "callbacks"
                    | "pathItems" | "content" | "encoding" => {
                        each_value(value, |value| for_each_schema(value, act));
                    }
                    _ => for_each_schema(value, act),
                }
            }
        }
        _ => {}
    }
}

/// Visits a schema and the schemas in it.
fn schema(value: &mut Value, act: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = value else { return };
    act(map);
    for (key, value) in map.iter_mut() {
        match key.as_str() {
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions"
            | "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
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
            _ => {}
        }
    }
}

fn each_value(value: &mut Value, act: impl FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(act),
        Value::Object(map) => map.values_mut().for_each(act),
        _ => {}
    }
}

/// Converts a schema of OpenAPI 3.0 to JSON Schema draft 4, which has no `nullable`.
/// `nullable` has an effect only together with `type`.
fn translate(schema: &mut Map<String, Value>) {
    let is_nullable = schema.get("nullable") == Some(&Value::Bool(true));
    if is_nullable && let Some(Value::String(kind)) = schema.get("type") {
        let both = vec![Value::String(kind.clone()), Value::String("null".into())];
        schema.insert("type".into(), Value::Array(both));
    }
}

/// Returns the variant of an OpenAPI 3.0 document for responses, if it differs from the one for
/// requests. The given document becomes the variant for requests: read-only members need not be
/// sent, and write-only members need not be in a response, even if they are required (OpenAPI 3.0.3
/// 4.7.24.2).
fn apart(root: &mut Value) -> Option<Value> {
    let written = root.clone();
    let mut responses = root.clone();
    let mut differ = false;
    for (document, flag) in [(root, "readOnly"), (&mut responses, "writeOnly")] {
        for_each_schema(document, &mut |schema| {
            differ |= relieve(schema, flag, &written)
        });
    }
    differ.then_some(responses)
}

/// Makes all properties with this flag optional; returns true if any of them was required.
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
        // Draft 4 does not allow an empty list here.
        true => schema.remove("required"),
        false => schema.insert("required".into(), Value::Array(kept)),
    };
    differs
}
