//! Converts strings to values of the types that a schema allows.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::document::Document;

/// The maximum nesting depth of schemas that are followed to find one shape.
const DEPTH_MAX: usize = 16;

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
        let mut shape = Self::default();
        shape.read(document, pointer, DEPTH_MAX);
        shape
    }

    fn read(&mut self, document: &Document, pointer: &str, depth: usize) {
        let pointer = document.resolve(pointer);
        let Some(schema) = document.at(&pointer).filter(|_| depth > 0) else {
            return;
        };
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        self.is_number |= kinds.contains(&"integer") || kinds.contains(&"number");
        self.is_boolean |= kinds.contains(&"boolean");
        self.is_array |= kinds.contains(&"array") || schema.get("items").is_some();
        self.is_object |= kinds.contains(&"object") || schema.get("properties").is_some();
        if schema.get("items").is_some() {
            let items = self.items.get_or_insert_default();
            items.read(document, &format!("{pointer}/items"), depth - 1);
        }
        for (name, place) in document.entries(&format!("{pointer}/properties")) {
            let at = self.members.iter().position(|(known, _)| *known == name);
            let at = at.unwrap_or_else(|| {
                self.members.push((name, Self::default()));
                self.members.len() - 1
            });
            self.members[at].1.read(document, &place, depth - 1);
        }
        for several in ["allOf", "anyOf", "oneOf"] {
            for place in document.items(&format!("{pointer}/{several}")) {
                self.read(document, &place, depth - 1);
            }
        }
    }

    pub(super) fn is_object(&self) -> bool {
        self.is_object && !self.is_array
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }

    /// Converts a string to a number or Boolean if the schema allows that type and the string
    /// represents one; otherwise, it stays a string.
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

    /// Converts names and strings to an object; each name may occur once.
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

    /// Returns the shape of a member; unknown members stay strings.
    pub(super) fn member(&self, name: &str) -> &Self {
        let mut members = self.members.iter();
        let found = members.find(|(known, _)| known == name);
        found.map_or(&NOTHING, |(_, shape)| shape)
    }
}
