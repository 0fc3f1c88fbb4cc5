//! Reads a mapping of the input key by key, so that unread keys can be reported.

use std::collections::BTreeMap;
use std::ops::Range;

use gatebench_config::{Data, Entry, Node};

use crate::log::Log;

/// A mapping with the keys that have not been read yet.
pub(crate) struct Keys<'n> {
    /// The name of the mapping in messages.
    what: String,
    /// The position reported for mistakes in the mapping as a whole.
    pub(crate) span: Range<usize>,
    rest: Vec<&'n Entry>,
}

impl<'n> Keys<'n> {
    /// Returns the keys of a mapping. Null counts as an empty mapping. Any other value is a
    /// mistake.
    pub(crate) fn of(node: &'n Node, what: impl Into<String>, log: &mut Log<'_>) -> Self {
        let what = what.into();
        if !matches!(node.data, Data::Map(_) | Data::Null) {
            let help = "write `key: value` lines here";
            log.problem(&node.head(), format!("{what} is not a mapping"), help);
        }
        // A key whose value is null is treated as absent.
        let is_given = |it: &&Entry| !matches!(it.value.data, Data::Null);
        Self {
            what,
            span: node.head(),
            rest: node.entries().iter().filter(is_given).collect(),
        }
    }

    pub(crate) fn entry(&mut self, key: &str) -> Option<&'n Entry> {
        let at = self.rest.iter().position(|entry| entry.key == key)?;
        Some(self.rest.remove(at))
    }

    pub(crate) fn node(&mut self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Takes the value of a key as text. Numbers and booleans are converted.
    pub(crate) fn text(&mut self, key: &str, log: &mut Log<'_>) -> Option<String> {
        let node = self.node(key)?;
        log.text_of(node, &format!("`{key}` of {}", self.what))
    }

    pub(crate) fn required(&mut self, key: &str, log: &mut Log<'_>) -> Option<String> {
        if self.rest.iter().all(|entry| entry.key != key) {
            let message = format!("{} has no `{key}`", self.what);
            log.problem(&self.span, message, format!("add `{key}: VALUE`"));
        }
        self.text(key, log)
    }

    /// Takes a non-negative integer of at most 10^15.
    pub(crate) fn count(&mut self, key: &str, log: &mut Log<'_>) -> Option<u64> {
        let node = self.node(key)?;
        let is_count = |it: &f64| it.fract() == 0.0 && (0.0..=1e15).contains(it);
        let count = node.number().filter(is_count);
        if count.is_none() {
            let what = &self.what;
            let message = format!("`{key}` of {what} is not a whole number from 0 to 10^15");
            log.problem(&node.span, message, "write a whole number without quotes");
        }
        count.map(|it| it as u64)
    }

    pub(crate) fn flag(&mut self, key: &str, log: &mut Log<'_>) -> Option<bool> {
        let node = self.node(key)?;
        if node.flag().is_none() {
            let message = format!("`{key}` of {} is neither true nor false", self.what);
            log.problem(&node.span, message, "write true or false, without quotes");
        }
        node.flag()
    }

    pub(crate) fn list(&mut self, key: &str, log: &mut Log<'_>) -> &'n [Node] {
        let Some(node) = self.node(key) else {
            return &[];
        };
        // Lua serializers write an empty list as an empty mapping.
        if !matches!(node.data, Data::List(_)) && !is_empty(node) {
            let message = format!("`{key}` of {} is not a list", self.what);
            log.problem(&node.head(), message, "begin each item with `- `");
        }
        node.items()
    }

    pub(crate) fn texts(&mut self, key: &str, log: &mut Log<'_>) -> Vec<String> {
        let what = format!("an item of `{key}` of {}", self.what);
        let items = self.list(key, log).iter();
        items.filter_map(|item| log.text_of(item, &what)).collect()
    }

    pub(crate) fn named_texts(&mut self, key: &str, log: &mut Log<'_>) -> BTreeMap<String, String> {
        let entries = self.node(key).map(Node::entries).unwrap_or_default();
        log.texts_of(entries)
    }

    pub(crate) fn name_and_value(&mut self, log: &mut Log<'_>) -> Option<(String, String)> {
        let (name, value) = (self.required("name", log), self.required("value", log));
        Some((name?, value?))
    }

    pub(crate) fn keys(&mut self, key: &str, log: &mut Log<'_>) -> Option<Keys<'n>> {
        let what = format!("`{key}` of {}", self.what);
        let node = self.node(key)?;
        Some(Keys::of(node, what, log))
    }

    /// Drops keys, so that they are not reported as unread.
    pub(crate) fn ignore(&mut self, keys: &[&str]) {
        self.rest.retain(|it| !keys.contains(&it.key.as_str()));
    }

    pub(crate) fn ignore_default(&mut self, key: &str, default: &str, log: &mut Log<'_>) {
        self.rest.retain(|entry| {
            entry.key != key || log.text_of(&entry.value, key).as_deref() != Some(default)
        });
    }

    /// Returns the unread keys, except those whose value is empty or false.
    pub(crate) fn unread(self) -> impl Iterator<Item = &'n Entry> {
        let is_idle = |entry: &&Entry| is_empty(&entry.value) || entry.value.flag() == Some(false);
        self.rest.into_iter().filter(move |entry| !is_idle(entry))
    }

    /// Notes that only the user's gateway applies the unread keys, and returns the entries for a
    /// scenario's `not_understood`. `of` follows the key in each note.
    pub(crate) fn not_understood(self, of: &str, log: &mut Log<'_>) -> Vec<String> {
        let note =
            |entry: &Entry| log.not_understood(&entry.key_span, format!("`{}`{of}", entry.key));
        self.unread().map(note).collect()
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.data {
        Data::Null => true,
        Data::Text(text) => text.is_empty(),
        Data::List(items) => items.is_empty(),
        Data::Map(entries) => entries.iter().all(|entry| is_empty(&entry.value)),
        _ => false,
    }
}
