//! Converts strings to values of the types that a schema allows.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::document::Document;

/// The maximum depth of the parts of a value that have a shape. A string represents at most an
/// object (a form) whose members are arrays, so the parts of their items are never needed.
const PARTS_MAX: usize = 2;

/// The shape of a value that the schema does not describe: the value stays a string.
static NOTHING: LazyLock<Shape> = LazyLock::new(Shape::default);

/// The types of values that a string may represent.
#[derive(Debug, Default)]
pub(super) struct Shape {
    is_number: bool,
    is_boolean: bool,
    pub(super) is_array: bool,
    is_object: bool,
    items: Option<Box<Shape>>,
    members: Vec<(String, Shape)>,
}

impl Shape {
    pub(super) fn of(document: &Document, pointer: &str) -> Self {
        Self::of_all(document, vec![pointer.to_owned()], PARTS_MAX)
    }

    /// Joins the shapes that the schemas at these pointers allow. Schemas may contain references to
    /// themselves, so each schema is read only once, and parts are read only down to `depth`.
    fn of_all(document: &Document, pointers: Vec<String>, depth: usize) -> Self {
        let mut shape = Self::default();
        let mut items = Vec::new();
        let mut members: Vec<(String, Vec<String>)> = Vec::new();
        let mut pending = pointers;
        let mut seen = HashSet::new();
        while let Some(pointer) = pending.pop() {
            // Compiling the schema reports a reference that cannot be followed.
            let pointer = document.resolve(&pointer).unwrap_or(pointer);
            let Some(schema) = document.at(&pointer) else {
                continue;
            };
            if !seen.insert(pointer.clone()) {
                continue;
            }
            shape.note_types(schema);
            if schema.get("items").is_some() {
                items.push(format!("{pointer}/items"));
            }
            for (name, place) in document.entries(&format!("{pointer}/properties")) {
                match members.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, places)) => places.push(place),
                    None => members.push((name, vec![place])),
                }
            }
            for several in ["allOf", "anyOf", "oneOf"] {
                pending.extend(document.items(&format!("{pointer}/{several}")));
            }
        }
        if depth > 0 && !items.is_empty() {
            shape.items = Some(Box::new(Self::of_all(document, items, depth - 1)));
        }
        // Only the value itself can be an object.
        if depth == PARTS_MAX {
            let members = members.into_iter();
            shape.members = members
                .map(|(name, places)| (name, Self::of_all(document, places, depth - 1)))
                .collect();
        }
        shape
    }

    fn note_types(&mut self, schema: &Value) {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        self.is_number |= kinds.contains(&"integer") || kinds.contains(&"number");
        self.is_boolean |= kinds.contains(&"boolean");
        self.is_array |= kinds.contains(&"array") || schema.get("items").is_some();
        self.is_object |= kinds.contains(&"object") || schema.get("properties").is_some();
    }

    pub(super) fn is_object(&self) -> bool {
        self.is_object && !self.is_array
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn value(&self, text: &str) -> Value {
        if self.is_number
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
            && let Ok(number @ Value::Number(_)) = serde_json::from_str(text)
        {
            return number;
        }
        match text {
            "true" if self.is_boolean => Value::Bool(true),
            "false" if self.is_boolean => Value::Bool(false),
            _ => Value::String(text.to_owned()),
        }
    }

    pub(super) fn array<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Value {
        let items = self.items.as_deref().unwrap_or(&NOTHING);
        Value::Array(texts.map(|text| items.value(text)).collect())
    }

    pub(super) fn object<'t>(
        &self,
        pairs: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> Result<Value, String> {
        let mut object = Map::new();
        for (name, text) in pairs {
            let value = self.member(name).value(text);
            if object.insert(name.to_owned(), value).is_some() {
                return Err("it has a duplicate member".into());
            }
        }
        Ok(Value::Object(object))
    }

    pub(super) fn member(&self, name: &str) -> &Self {
        let mut members = self.members.iter();
        let found = members.find(|(known, _)| known == name);
        found.map_or(&NOTHING, |(_, shape)| shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the limits, following these references would never end.
    #[test]
    fn schemas_that_refer_to_themselves_are_read_once() {
        let node = serde_json::json!({"$ref": "#/components/schemas/Node"});
        let text = serde_json::json!({
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "components": {"schemas": {
                "Node": {
                    "anyOf": [node, node, node, {"$ref": "#/components/schemas/Leaf"}],
                    "properties": {"left": node, "middle": node, "right": node},
                },
                "Leaf": {
                    "allOf": [{"$ref": "#/components/schemas/Leaf"}, node],
                    "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
                },
            }},
        });
        let document = Document::read(&text.to_string()).unwrap();
        let shape = Shape::of(&document, "/components/schemas/Node");
        let mut members: Vec<_> = shape.members().collect();
        members.sort_unstable();
        assert_eq!(members, ["left", "middle", "numbers", "right"]);
        assert!(shape.member("left").is_object());
        assert_eq!(shape.member("left").members().count(), 0);
        let numbers = shape.member("numbers").array(["1", "x"].into_iter());
        assert_eq!(numbers, serde_json::json!([1, "x"]));
    }
}
