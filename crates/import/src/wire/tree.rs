//! Finds positions in YAML or JSON configurations.

use std::ops::Range;

use gatebench_config::{Data, Entry, Node};

/// Returns all mappings in a node, outer ones first.
pub(super) fn mappings(node: &Node) -> impl Iterator<Item = &Node> {
    let all = node.all();
    all.filter(|it| matches!(it.data, Data::Map(_)))
}

/// Returns the bytes of an entry and its separator, whose removal leaves the mapping valid.
pub(super) fn removable(text: &str, mapping: &Node, entry: &Entry) -> Range<usize> {
    let entries = mapping.entries();
    let place = entries
        .iter()
        .position(|it| it.key_span == entry.key_span)
        .unwrap_or(0);
    let start = entry.key_span.start;
    let end = entry.value.span.end.max(entry.key_span.end);
    if let Some(next) = entries.get(place + 1) {
        return start..next.key_span.start;
    }
    if place > 0 && is_flow(text, mapping) {
        let before = &entries[place - 1];
        return before.value.span.end.max(before.key_span.end)..end;
    }
    start..end
}

/// Reports whether a mapping is in flow style: `{key: value}`.
pub(super) fn is_flow(text: &str, mapping: &Node) -> bool {
    text.as_bytes().get(mapping.span.start) == Some(&b'{')
}

/// The position of a new entry, with the text around its value.
pub(super) struct NewEntry {
    pub(super) at: usize,
    pub(super) before: String,
    pub(super) after: String,
}

/// Returns the position and text of a new entry in front of a mapping's first entry.
pub(super) fn new_entry(text: &str, mapping: &Node, key: &str) -> NewEntry {
    let first = mapping.entries().first();
    let at = first.map_or(mapping.span.start, |entry| entry.key_span.start);
    if is_flow(text, mapping) {
        return NewEntry {
            at,
            before: format!("\"{key}\": "),
            after: ", ".into(),
        };
    }
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = text[line..at].chars().count();
    NewEntry {
        at,
        before: format!("{key}: "),
        after: format!("\n{}", " ".repeat(indent)),
    }
}
