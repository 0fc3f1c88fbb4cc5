//! A YAML document with the place of every key and value.

use std::ops::Range;

use serde_json::Value;

use crate::diagnostic::Problem;

/// A value and its bytes in the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// The value.
    pub data: Data,
}

/// A value and its kind.
#[derive(Clone, Debug)]
pub enum Data {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction; always finite.
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// A mapping, in the order of the text; no key occurs twice.
    Map(Vec<Entry>),
}

/// A key, its place and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    /// Bytes of the key in the text.
    pub key_span: Range<usize>,
    pub value: Node,
}

impl Entry {
    /// A mistake in the key.
    pub fn problem(&self, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.key_span.clone(), message, help)
    }
}

impl Node {
    /// The entry under a key of a mapping.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value under a key of a mapping, for modification.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.data {
            Data::Map(entries) => entries
                .iter_mut()
                .find(|entry| entry.key == key)
                .map(|entry| &mut entry.value),
            _ => None,
        }
    }

    /// Removes the entry under a key of a mapping, and returns its value.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Data::Map(entries) = &mut self.data else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at).value)
    }

    /// The items of the list under a key, for modification; empty if there is none.
    pub fn list_mut(&mut self, key: &str) -> &mut [Node] {
        match self.get_mut(key).map(|node| &mut node.data) {
            Some(Data::List(items)) => items,
            _ => &mut [],
        }
    }

    /// The entries of a mapping; empty for any other value.
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for any other value.
    pub fn items(&self) -> &[Node] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }

    /// The items of the list under a key; empty if there is none.
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }

    /// The entries of the mapping under a key; empty if there is none.
    pub fn mapping(&self, key: &str) -> &[Entry] {
        self.get(key).map_or(&[], Node::entries)
    }

    /// The entries of the mapping under a key, for modification; empty if there is none.
    pub fn mapping_mut(&mut self, key: &str) -> &mut [Entry] {
        match self.get_mut(key).map(|node| &mut node.data) {
            Some(Data::Map(entries)) => entries,
            _ => &mut [],
        }
    }

    /// The boolean, if it is one.
    pub fn flag(&self) -> Option<bool> {
        match self.data {
            Data::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    /// A mistake in the value.
    pub fn problem(&self, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.span.clone(), message, help)
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.data {
            Data::Integer(integer) => Some(integer as f64),
            Data::Float(float) => Some(float),
            _ => None,
        }
    }

    /// The number of values in it, including itself.
    pub fn size(&self) -> usize {
        let items = self.items().iter().map(Node::size).sum::<usize>();
        let entries = self.entries().iter().map(|entry| entry.value.size());
        1 + items + entries.sum::<usize>()
    }

    /// The bytes at which to report a mistake of the whole value: for a mapping, its first key.
    pub fn head(&self) -> Range<usize> {
        match &self.data {
            Data::Map(entries) => entries
                .first()
                .map_or(self.span.clone(), |first| first.key_span.clone()),
            Data::List(items) => items.first().map_or(self.span.clone(), Node::head),
            _ => self.span.clone(),
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(flag) => (*flag).into(),
            Data::Integer(integer) => (*integer).into(),
            Data::Float(float) => (*float).into(),
            Data::Text(text) => text.as_str().into(),
            Data::List(items) => items.iter().map(Node::to_json).collect(),
            Data::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect(),
            ),
        }
    }
}
