//! Checks the keys of a mapping: unknown keys, missing keys, and mutually exclusive keys.

use serde_json::{Map, Value};

use super::{Place, Walker, about, description, list};
use crate::node::{Data, Entry, Node};
use crate::suggest::{listed, nearest};

/// The keys that a mapping may have, and those that it must have.
pub(super) struct Keys<'s> {
    /// The declared keys, each with the schema of its value.
    own: Vec<(&'s str, &'s Value)>,
    /// The tags of an externally tagged enum, exactly one of which must be present, each with the
    /// schema of its value and its description.
    choice: Vec<(&'s str, &'s Value, &'s str)>,
    pub(super) required: Vec<&'s str>,
    /// The schema for the values of undeclared keys, if there is one.
    pub(super) other: Option<&'s Value>,
    /// True if undeclared keys are mistakes.
    pub(super) closed: bool,
}

impl<'s> Keys<'s> {
    pub(super) fn new(schema: &'s Value) -> Self {
        let own = properties(schema).into_iter().flatten();
        let tagged = |branch: &'s Value| {
            let (key, value) = properties(branch)?.iter().next()?;
            Some((key.as_str(), value, description(branch)))
        };
        let choice = list(schema, "oneOf").iter().filter_map(tagged);
        let required = list(schema, "required").iter();
        let other = schema.get("additionalProperties");
        Self {
            own: own.map(|(key, value)| (key.as_str(), value)).collect(),
            choice: choice.collect(),
            required: required.filter_map(Value::as_str).collect(),
            closed: is_closed(schema),
            other: other.filter(|other| other.is_object()),
        }
    }

    pub(super) fn schema_of(&self, key: &str) -> Option<&'s Value> {
        let own = self.own.iter().copied();
        let choice = self.choice.iter().map(|(tag, schema, _)| (*tag, *schema));
        let found = own.chain(choice).find(|(known, _)| *known == key);
        found.map(|(_, schema)| schema)
    }

    /// Returns the current name of the key that had this name in earlier versions.
    fn renamed(&self, earlier: &str) -> Option<&'s str> {
        let mut own = self.own.iter();
        let has_alias = |schema| list(schema, "aliases").iter().any(|alias| alias == earlier);
        let found = own.find(|(_, schema)| has_alias(schema));
        found.map(|(key, _)| *key)
    }

    pub(super) fn known(&self) -> impl Iterator<Item = &'s str> {
        self.own.iter().map(|(key, _)| *key).chain(self.tags())
    }

    pub(super) fn tags(&self) -> impl Iterator<Item = &'s str> {
        self.choice.iter().map(|(tag, ..)| *tag)
    }
}

/// Reports whether a schema forbids undeclared keys. A choice of tagged settings also forbids them
/// if every branch does.
fn is_closed(schema: &Value) -> bool {
    let refuses = |schema: &Value| {
        ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|word| schema.get(word) == Some(&Value::Bool(false)))
    };
    let branches = list(schema, "oneOf");
    refuses(schema) || !branches.is_empty() && branches.iter().all(refuses)
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

impl<'s> Walker<'s> {
    pub(super) fn mapping(&mut self, node: &mut Node, schema: &'s Value, place: &Place<'s>) {
        let keys = Keys::new(schema);
        let Data::Map(entries) = &mut node.data else {
            return;
        };
        let unknown = match keys.closed {
            true => self.unknown_keys(entries, &keys, place),
            false => 0,
        };
        self.missing_keys(entries, &keys, place);
        self.choice(entries, &keys, place, unknown);
        for entry in entries {
            let Some(value_schema) = keys.schema_of(&entry.key).or(keys.other) else {
                continue;
            };
            let value_place = Place {
                name: format!("`{}`", entry.key),
                head: entry.key_span.clone(),
                description: self.description(value_schema),
            };
            self.check(&mut entry.value, value_schema, &value_place);
        }
    }

    /// Reports unknown keys, and replaces a probable misspelling with the intended key. Silently
    /// replaces a name from an earlier version with the current name, unless both are present.
    /// Returns the number of keys that remain unknown.
    fn unknown_keys(&mut self, entries: &mut [Entry], keys: &Keys<'s>, place: &Place<'s>) -> usize {
        let mut left = 0;
        for index in 0..entries.len() {
            let key = entries[index].key.clone();
            if keys.schema_of(&key).is_some() {
                continue;
            }
            if let Some(current) = keys.renamed(&key)
                && entries.iter().all(|entry| entry.key != current)
            {
                entries[index].key = current.into();
                continue;
            }
            let absent = keys
                .known()
                .filter(|known| entries.iter().all(|entry| entry.key != *known));
            let message = format!("{} has no key `{key}`", place.name);
            let span = entries[index].key_span.clone();
            match nearest(&key, absent) {
                Some(near) => {
                    entries[index].key = near.into();
                    self.report(span, message, format!("did you mean `{near}`?"));
                }
                None => {
                    left += 1;
                    let help = match listed(keys.known(), "and") {
                        _ if keys.known().next().is_none() => "remove it".into(),
                        known => format!("remove it; the keys here are {known}"),
                    };
                    self.report(span, message, help);
                }
            }
        }
        left
    }

    fn missing_keys(&mut self, entries: &[Entry], keys: &Keys<'s>, place: &Place<'s>) {
        for key in &keys.required {
            if entries.iter().all(|entry| entry.key != *key) {
                let schema = keys.schema_of(key);
                let text = schema.map_or("", |schema| self.description(schema));
                let message = format!("{} has no `{key}`", place.name);
                let help = format!("add `{key}:`{}", about(text));
                self.report(place.head.clone(), message, help);
            }
        }
    }

    fn choice(&mut self, entries: &[Entry], keys: &Keys<'s>, place: &Place<'s>, unknown: usize) {
        let given: Vec<&Entry> = entries
            .iter()
            .filter(|entry| keys.tags().any(|tag| tag == entry.key))
            .collect();
        match given.as_slice() {
            // If a mapping consists only of the choice, an unknown key is an invalid choice and was
            // already reported.
            [] if keys.choice.is_empty() || (keys.own.is_empty() && unknown > 0) => {}
            [] => {
                let choice = keys.choice.iter();
                let each = choice.map(|(tag, _, text)| format!("`{tag}:`{}", about(text)));
                let help = format!("add one: {}", each.collect::<Vec<_>>().join(", "));
                let message = format!("{} needs {}", place.name, listed(keys.tags(), "or"));
                self.report(place.head.clone(), message, help);
            }
            [_] => {}
            [first, others @ ..] => {
                for other in others {
                    let message =
                        format!("`{}` and `{}` are mutually exclusive", first.key, other.key);
                    let help = "keep one of them; in a list, begin another item with `- `";
                    self.report(other.key_span.clone(), message, help.into());
                }
            }
        }
    }
}
