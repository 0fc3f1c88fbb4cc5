//! Checks a [`Node`] against a JSON Schema generated from our types, and describes every violation.
//!
//! The check supports the keywords that our schemas use; a test of `gatebench-model` lists them. It
//! reports more than a general validator can: the known keys, the word that was probably intended,
//! and the correct form of a value. A misspelled key is reported once and then treated as the
//! intended key, so that the values under it are checked too.

mod mapping;
mod mended;
mod scalar;

use std::ops::Range;

use serde_json::Value;

use crate::diagnostic::Problem;
use crate::node::{Data, Node};
pub(crate) use mended::mended;

/// Checks `root` against the schema and returns every violation. Corrects misspelled and outdated
/// keys in `root`.
pub(crate) fn conform(
    root: &mut Node,
    schema: &Value,
    file_title: &str,
    text: &str,
) -> Vec<Problem> {
    let mut walker = Walker::new(schema, text);
    let place = Place {
        name: format!("the {file_title}"),
        head: root.head(),
        description: "",
    };
    walker.check(root, schema, &place);
    walker.problems
}

struct Place<'s> {
    name: String,
    /// The byte range to underline if the value is empty or incomplete.
    head: Range<usize>,
    description: &'s str,
}

struct Walker<'s> {
    root: &'s Value,
    text: &'s str,
    problems: Vec<Problem>,
}

impl<'s> Walker<'s> {
    fn new(root: &'s Value, text: &'s str) -> Self {
        Self {
            root,
            text,
            problems: Vec::new(),
        }
    }

    fn report(&mut self, span: Range<usize>, message: String, help: String) {
        self.problems.push(Problem {
            span,
            message,
            help,
        });
    }

    /// Returns the first line of a value as written in the file, without trailing white space.
    fn written(&self, node: &Node) -> &'s str {
        let whole = self.text.get(node.span.clone()).unwrap_or("");
        whole.lines().next().unwrap_or("").trim_end()
    }

    /// Follows one reference to a definition in the same schema. Returns a schema without such a
    /// reference unchanged.
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let pointer = word(schema, "$ref").and_then(|path| path.strip_prefix('#'));
        let found = pointer.and_then(|pointer| self.root.pointer(pointer));
        found.unwrap_or(schema)
    }

    /// The first line of the description of a schema or, if it has none, of the definition that it
    /// refers to.
    fn description(&self, schema: &'s Value) -> &'s str {
        match description(schema) {
            "" => description(self.resolve(schema)),
            own => own,
        }
    }

    fn check(&mut self, node: &mut Node, schema: &'s Value, place: &Place<'s>) {
        let schema = self.resolve(schema);
        if let Some(forms) = forms(schema) {
            return self.one_of_forms(node, forms, place);
        }
        if let Some(words) = words(schema) {
            return self.one_of_words(node, &words, place);
        }
        if self.has_type(node, schema, place) {
            match &mut node.data {
                Data::Text(text) => self.text_form(text, &node.span, schema, place),
                Data::Integer(_) | Data::Float(_) => self.range(node, schema, place),
                Data::List(items) => self.items(items, schema, place),
                Data::Map(_) => self.mapping(node, schema, place),
                Data::Null | Data::Bool(_) => {}
            }
        }
    }

    /// Checks a value against `anyOf`. With null, `anyOf` represents an optional value of a named
    /// type; without null, it represents a choice between forms of different types.
    fn one_of_forms(&mut self, node: &mut Node, forms: &'s [Value], place: &Place<'s>) {
        let forms = forms.iter().map(|form| self.resolve(form));
        let (nulls, others): (Vec<&'s Value>, Vec<&'s Value>) = forms.partition(|it| is_null(it));
        if matches!(node.data, Data::Null) && !nulls.is_empty() {
            return;
        }
        let fitting = others.iter().find(|form| self.may_be(&node.data, form));
        if let Some(form) = fitting.or(others.first()) {
            self.check(node, form, place);
        }
    }

    fn items(&mut self, items: &mut [Node], schema: &'s Value, place: &Place<'s>) {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        if (items.len() as u64) < least {
            let message = format!("{} is an empty list", place.name);
            let help = format!("add at least {least}{}", about(place.description));
            self.report(place.head.clone(), message, help);
        }
        let Some(item_schema) = schema.get("items") else {
            return;
        };
        for (index, item) in items.iter_mut().enumerate() {
            let item_place = Place {
                name: format!("item {} of {}", index + 1, place.name),
                head: item.head(),
                description: description(self.resolve(item_schema)),
            };
            self.check(item, item_schema, &item_place);
        }
    }
}

fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(Value::as_str).collect();
    }
    let branches = schema.get("oneOf")?.as_array()?;
    branches
        .iter()
        .map(|branch| branch.get("const")?.as_str())
        .collect()
}

/// The alternatives of a schema with `anyOf`; `None` for any other schema.
fn forms(schema: &Value) -> Option<&[Value]> {
    Some(schema.get("anyOf")?.as_array()?)
}

fn is_null(schema: &Value) -> bool {
    word(schema, "type") == Some("null")
}

fn description(schema: &Value) -> &str {
    let text = word(schema, "description").unwrap_or("");
    text.lines().next().unwrap_or("")
}

/// The description in parentheses, for appending to a remedy.
fn about(description: &str) -> String {
    // Drops the last sentence if it continues on the next line.
    let whole = match description.rfind(". ") {
        Some(end) if !description.ends_with('.') => &description[..end],
        _ => description,
    };
    match whole.trim_end_matches('.') {
        "" => String::new(),
        sentence => format!(" ({sentence})"),
    }
}

fn word<'s>(schema: &'s Value, keyword: &str) -> Option<&'s str> {
    schema.get(keyword)?.as_str()
}

fn list<'s>(schema: &'s Value, keyword: &str) -> &'s [Value] {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
