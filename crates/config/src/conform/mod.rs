//! Checks a [`Node`] against a JSON Schema generated from our types, and describes every mistake.
//!
//! It supports the keywords that our schemas use (a test of `gatebench-model` lists them), and
//! reports more about them than a general validator can: the keys that exist, the branch of a
//! choice that was meant, and the correct text. A misspelt key is reported and then treated as the
//! known key, so that one slip is one mistake and the values under it are checked too.

mod mapping;
mod mended;
mod scalar;

use std::ops::Range;

use serde_json::Value;

use crate::diagnostic::Problem;
use crate::node::{Data, Node};
pub(crate) use mended::mended;

/// Returns every mistake in `root`, and corrects misspelt keys.
pub(crate) fn conform(
    root: &mut Node,
    schema: &Value,
    file_title: &str,
    text: &str,
) -> Vec<Problem> {
    let mut walker = Walker {
        root: schema,
        text,
        problems: Vec::new(),
    };
    let place = Place {
        name: format!("the {file_title}"),
        head: root.head(),
        description: "",
    };
    walker.check(root, schema, &place);
    walker.problems
}

/// The name of a value in a sentence, and the place of the caret if something in it is missing.
struct Place<'s> {
    name: String,
    head: Range<usize>,
    /// Its part of the schema.
    description: &'s str,
}

struct Walker<'s> {
    root: &'s Value,
    text: &'s str,
    problems: Vec<Problem>,
}

impl<'s> Walker<'s> {
    fn report(&mut self, span: Range<usize>, message: String, help: String) {
        self.problems.push(Problem {
            span,
            message,
            help,
        });
    }

    /// The text of a value as written.
    fn written(&self, node: &Node) -> &'s str {
        self.text
            .get(node.span.clone())
            .unwrap_or("")
            .lines()
            .next()
            .unwrap_or("")
            .trim_end()
    }

    /// Follows a reference to a definition of the same schema.
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let reference = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|path| path.strip_prefix('#'));
        reference
            .and_then(|pointer| self.root.pointer(pointer))
            .unwrap_or(schema)
    }

    /// The first line of the description of a schema, or otherwise of the definition to which it
    /// refers.
    fn description(&self, schema: &'s Value) -> &'s str {
        match description(schema) {
            "" => description(self.resolve(schema)),
            own => own,
        }
    }

    fn check(&mut self, node: &mut Node, schema: &'s Value, place: &Place<'s>) {
        let schema = self.resolve(schema);
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            return self.one_of_forms(node, choices, place);
        }
        if let Some(words) = words(schema) {
            return self.word(node, &words, place);
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

    /// `anyOf` with null represents an optional value of a named type; without null it is a choice
    /// between forms of different types.
    fn one_of_forms(&mut self, node: &mut Node, forms: &'s [Value], place: &Place<'s>) {
        let forms: Vec<&'s Value> = forms.iter().map(|form| self.resolve(form)).collect();
        let is_null = |form: &&&Value| form.get("type").and_then(Value::as_str) == Some("null");
        if matches!(node.data, Data::Null) && forms.iter().any(|form| is_null(&form)) {
            return;
        }
        let mut others = forms.iter().filter(|form| !is_null(form));
        let first = others.clone().next();
        let fitting = others.find(|form| self.may_be(&node.data, form));
        if let Some(form) = fitting.or(first) {
            self.check(node, form, place);
        }
    }

    fn items(&mut self, items: &mut [Node], schema: &'s Value, place: &Place<'s>) {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        if (items.len() as u64) < least {
            let message = format!("{} is an empty list", place.name);
            self.report(
                place.head.clone(),
                message,
                format!("add at least {least}{}", about(place.description)),
            );
        }
        let Some(item_schema) = schema.get("items") else {
            return;
        };
        for (index, item) in items.iter_mut().enumerate() {
            let name = format!("item {} of {}", index + 1, place.name);
            let item_place = Place {
                name,
                head: item.head(),
                description: description(self.resolve(item_schema)),
            };
            self.check(item, item_schema, &item_place);
        }
    }
}

/// The allowed words, if the value is one of a set of words.
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

/// The first line of the description of a schema.
fn description(schema: &Value) -> &str {
    schema
        .get("description")
        .and_then(Value::as_str)
        .and_then(|text| text.lines().next())
        .unwrap_or("")
}

/// A description as the end of a remedy.
fn about(description: &str) -> String {
    // If a second sentence begins on the line, the line is cut before it.
    let whole = match description.rfind(". ") {
        Some(end) if !description.ends_with('.') => &description[..end],
        _ => description,
    };
    let sentence = whole.trim_end_matches('.');
    if sentence.is_empty() {
        String::new()
    } else {
        format!(" ({sentence})")
    }
}

/// The list under a keyword; empty if there is none.
fn list<'s>(schema: &'s Value, keyword: &str) -> &'s [Value] {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
