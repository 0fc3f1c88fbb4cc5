//! A YAML document with the place of every key and value.

use std::ops::Range;

use serde_json::Value;

use crate::diagnostic::Problem;

/// A value and its place in the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// The byte range of the value in the text.
    pub span: Range<usize>,
    pub data: Data,
}

/// The kind and the content of a value.
#[derive(Clone, Debug)]
pub enum Data {
    /// `null`, or a missing value.
    Null,
    Bool(bool),
    Integer(i64),
    /// A number that is not an [`Integer`](Data::Integer); always finite.
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
    /// The byte range of the key in the text.
    pub key_span: Range<usize>,
    pub value: Node,
}

impl Entry {
    /// An entry that is not in the text. Its mistakes are reported at `place`.
    pub fn new(key: impl Into<String>, place: &Range<usize>, data: Data) -> Self {
        Self {
            key: key.into(),
            key_span: place.clone(),
            value: Node::new(place, data),
        }
    }

    pub fn problem(&self, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.key_span.clone(), message, help)
    }
}

impl Node {
    /// A value whose mistakes are reported at `place`.
    pub fn new(place: &Range<usize>, data: Data) -> Self {
        Self {
            span: place.clone(),
            data,
        }
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value under nested keys, outermost first.
    pub fn at(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let mut entries = self.entries_mut().iter_mut();
        let found = entries.find(|entry| entry.key == key)?;
        Some(&mut found.value)
    }

    /// Adds an entry to a mapping; any other value stays unchanged.
    pub fn push(&mut self, entry: Entry) {
        if let Data::Map(entries) = &mut self.data {
            entries.push(entry);
        }
    }

    pub fn take(&mut self, key: &str) -> Option<Node> {
        let Data::Map(entries) = &mut self.data else {
            return None;
        };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at).value)
    }

    /// The entries of a mapping; empty for any other value.
    pub fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    fn entries_mut(&mut self) -> &mut [Entry] {
        match &mut self.data {
            Data::Map(entries) => entries,
            _ => &mut [],
        }
    }

    /// The items of a list; empty for any other value.
    pub fn items(&self) -> &[Node] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }

    fn items_mut(&mut self) -> &mut [Node] {
        match &mut self.data {
            Data::List(items) => items,
            _ => &mut [],
        }
    }

    /// The items of the list under a key; empty if there is none.
    pub fn list(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }

    pub fn list_mut(&mut self, key: &str) -> &mut [Node] {
        self.get_mut(key).map_or(&mut [], Node::items_mut)
    }

    /// The entries of the mapping under a key; empty if there is none.
    pub fn mapping(&self, key: &str) -> &[Entry] {
        self.get(key).map_or(&[], Node::entries)
    }

    pub fn mapping_mut(&mut self, key: &str) -> &mut [Entry] {
        self.get_mut(key).map_or(&mut [], Node::entries_mut)
    }

    pub fn flag(&self) -> Option<bool> {
        match self.data {
            Data::Bool(flag) => Some(flag),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if the value is one. An integer whose magnitude exceeds 2^53 may be rounded.
    pub fn number(&self) -> Option<f64> {
        match self.data {
            Data::Integer(integer) => Some(integer as f64),
            Data::Float(float) => Some(float),
            _ => None,
        }
    }

    /// The value, then all values in it, in the order of the text.
    pub fn all(&self) -> impl Iterator<Item = &Node> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(node.entries().iter().rev().map(|entry| &entry.value));
            open.extend(node.items().iter().rev());
            Some(node)
        })
    }

    /// Calls `change` with the value, then with all values in it.
    pub fn for_each_mut(&mut self, change: &mut dyn FnMut(&mut Node)) {
        change(self);
        for entry in self.entries_mut() {
            entry.value.for_each_mut(change);
        }
        for item in self.items_mut() {
            item.for_each_mut(change);
        }
    }

    /// The number of values: this one and all values in it.
    pub fn size(&self) -> usize {
        self.all().count()
    }

    pub fn problem(&self, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.span.clone(), message, help)
    }

    /// The byte range for reporting a mistake that concerns the whole value. For a mapping, it is
    /// the first key; for a list, the head of the first item; and otherwise, the value itself.
    pub fn head(&self) -> Range<usize> {
        let first_key = self.entries().first().map(|entry| entry.key_span.clone());
        let first = first_key.or_else(|| self.items().first().map(Node::head));
        first.unwrap_or_else(|| self.span.clone())
    }

    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(flag) => (*flag).into(),
            Data::Integer(integer) => (*integer).into(),
            Data::Float(float) => (*float).into(),
            Data::Text(text) => text.as_str().into(),
            Data::List(items) => items.iter().map(Node::to_json).collect(),
            Data::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.to_json()))
                .collect(),
        }
    }
}
