//! A mapping of the input that is read key by key. Keys that are not read are reported.

use std::ops::Range;

use gatebench_config::{Data, Entry, Node};

use crate::log::Log;

/// A mapping with the keys that have not been read yet.
pub(crate) struct Keys<'n> {
    /// A description of the mapping for messages.
    what: String,
    /// The place for messages about the mapping as a whole.
    pub(crate) span: Range<usize>,
    rest: Vec<&'n Entry>,
}

impl<'n> Keys<'n> {
    /// The keys of a mapping. Null counts as an empty mapping; anything else is a mistake.
    pub(crate) fn of(node: &'n Node, what: impl Into<String>, log: &mut Log<'_>) -> Self {
        let what = what.into();
        if !matches!(node.data, Data::Map(_) | Data::Null) {
            let help = "write `key: value` lines here";
            log.problem(&node.head(), format!("{what} is not a mapping"), help);
        }
        Self {
            what,
            span: node.head(),
            // A key whose value is null is treated as absent.
            rest: node
                .entries()
                .iter()
                .filter(|it| !is_null(&it.value))
                .collect(),
        }
    }

    /// Takes the entry of a key.
    pub(crate) fn entry(&mut self, key: &str) -> Option<&'n Entry> {
        let at = self.rest.iter().position(|entry| entry.key == key)?;
        Some(self.rest.remove(at))
    }

    /// Takes the value of a key.
    pub(crate) fn node(&mut self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Takes the value of a key as text; numbers are converted.
    pub(crate) fn text(&mut self, key: &str, log: &mut Log<'_>) -> Option<String> {
        let node = self.node(key)?;
        log.text_of(node, &format!("`{key}` of {}", self.what))
    }

    /// Takes a required text.
    pub(crate) fn required(&mut self, key: &str, log: &mut Log<'_>) -> Option<String> {
        if self.rest.iter().all(|entry| entry.key != key) {
            let message = format!("{} has no `{key}`", self.what);
            log.problem(&self.span, message, format!("add `{key}: VALUE`"));
        }
        self.text(key, log)
    }

    /// Takes a number.
    pub(crate) fn number(&mut self, key: &str, log: &mut Log<'_>) -> Option<f64> {
        let node = self.node(key)?;
        let number = node.number();
        if number.is_none() {
            let message = format!("`{key}` of {} is not a number", self.what);
            log.problem(&node.span, message, "write a number without quotes");
        }
        number
    }

    /// Takes a whole number from 0 on.
    pub(crate) fn count(&mut self, key: &str, log: &mut Log<'_>) -> Option<u64> {
        let span = self
            .rest
            .iter()
            .find(|it| it.key == key)?
            .value
            .span
            .clone();
        let number = self.number(key, log)?;
        if number.fract() == 0.0 && (0.0..=1e15).contains(&number) {
            return Some(number as u64);
        }
        let message = format!(
            "`{key}` of {} is not a whole number of at least 0",
            self.what
        );
        log.problem(&span, message, "write a whole number");
        None
    }

    /// Takes a boolean.
    pub(crate) fn flag(&mut self, key: &str, log: &mut Log<'_>) -> Option<bool> {
        let node = self.node(key)?;
        if node.flag().is_none() {
            let message = format!("`{key}` of {} is neither true nor false", self.what);
            log.problem(&node.span, message, "write true or false, without quotes");
        }
        node.flag()
    }

    /// Takes the items of a list.
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

    /// Takes a list of strings.
    pub(crate) fn texts(&mut self, key: &str, log: &mut Log<'_>) -> Vec<String> {
        let what = format!("an item of `{key}` of {}", self.what);
        let items = self.list(key, log).iter();
        items.filter_map(|item| log.text_of(item, &what)).collect()
    }

    /// Takes the mapping of a key.
    pub(crate) fn keys(&mut self, key: &str, log: &mut Log<'_>) -> Option<Keys<'n>> {
        let what = format!("`{key}` of {}", self.what);
        let node = self.node(key)?;
        Some(Keys::of(node, what, log))
    }

    /// Drops keys that do not change what a gateway does to a request.
    pub(crate) fn ignore(&mut self, keys: &[&str]) {
        self.rest
            .retain(|entry| !keys.contains(&entry.key.as_str()));
    }

    /// Drops keys whose value has no effect: the default, null, false, or empty.
    pub(crate) fn ignore_default(&mut self, key: &str, default: &str, log: &mut Log<'_>) {
        self.rest.retain(|entry| {
            entry.key != key || log.text_of(&entry.value, key).as_deref() != Some(default)
        });
    }

    /// The unread keys that have an effect.
    pub(crate) fn unread(self) -> impl Iterator<Item = &'n Entry> {
        let is_idle = |entry: &&Entry| is_empty(&entry.value) || entry.value.flag() == Some(false);
        self.rest.into_iter().filter(move |entry| !is_idle(entry))
    }
}

fn is_null(node: &Node) -> bool {
    matches!(node.data, Data::Null)
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
