//! Removes the violations of a schema from a document, so that its meaning can be checked as well.
//! Drops invalid values; where a value is required but missing or invalid, inserts a placeholder of
//! the right type. The result is used only for these checks.

use serde_json::{Map, Value};

use super::mapping::Keys;
use super::scalar::{bounds, types};
use super::{Place, Walker, forms, is_null, word, words};
use crate::duration::HumanDuration;
use crate::node::{Data, Entry, Node};

pub(crate) fn mended(root: &Node, schema: &Value) -> Value {
    let mut walker = Walker::new(schema, "");
    let value = walker.kept(root, schema);
    value.unwrap_or_else(|| walker.sample(schema))
}

impl<'s> Walker<'s> {
    /// Returns a value with its invalid parts dropped or replaced, or `None` if the value itself is
    /// invalid.
    fn kept(&mut self, node: &Node, schema: &'s Value) -> Option<Value> {
        if !self.may_be(&node.data, schema) {
            return self.is_fine(node, schema).then(|| node.to_json());
        }
        let schema = self.form_of(node, schema)?;
        match &node.data {
            Data::Map(entries) => self.kept_keys(entries, schema),
            Data::List(items) => {
                let Some(of_items) = schema.get("items") else {
                    return Some(node.to_json());
                };
                // Each item keeps its index, because semantic mistakes are reported by index.
                let kept = items.iter().map(|item| {
                    let value = self.kept(item, of_items);
                    value.unwrap_or_else(|| self.sample(of_items))
                });
                Some(kept.collect())
            }
            _ => self.is_fine(node, schema).then(|| node.to_json()),
        }
    }

    fn is_fine(&mut self, node: &Node, schema: &'s Value) -> bool {
        let place = Place {
            name: String::new(),
            head: 0..0,
            description: "",
        };
        let before = self.problems.len();
        self.check(&mut node.clone(), schema, &place);
        self.problems.len() == before
    }

    /// Returns the schema to check a value against: of several alternatives, the first that allows
    /// the value's type.
    fn form_of(&self, node: &Node, schema: &'s Value) -> Option<&'s Value> {
        let schema = self.resolve(schema);
        let Some(forms) = forms(schema) else {
            return Some(schema);
        };
        let fitting = forms.iter().find(|form| self.may_be(&node.data, form))?;
        self.form_of(node, fitting)
    }

    fn kept_keys(&mut self, entries: &[Entry], schema: &'s Value) -> Option<Value> {
        let keys = Keys::new(schema);
        let mut kept = Map::new();
        let mut has_choice = keys.tags().next().is_none();
        for entry in entries {
            let is_choice = keys.tags().any(|tag| tag == entry.key);
            let known = keys.schema_of(&entry.key).or(keys.other);
            if is_choice && std::mem::replace(&mut has_choice, true) {
                continue;
            }
            let value = match known {
                Some(schema) => {
                    let value = self.kept(&entry.value, schema);
                    value.or_else(|| is_choice.then(|| self.sample(schema)))
                }
                None => (!keys.closed).then(|| entry.value.to_json()),
            };
            kept.extend(value.map(|value| (entry.key.clone(), value)));
        }
        for key in &keys.required {
            if let Some(schema) = keys.schema_of(key).filter(|_| !kept.contains_key(*key)) {
                kept.insert((*key).to_owned(), self.sample(schema));
            }
        }
        has_choice.then_some(Value::Object(kept))
    }

    /// Returns a placeholder of the type that a schema requires. The placeholder may violate a
    /// pattern or a minimum number of items.
    fn sample(&self, schema: &'s Value) -> Value {
        let schema = self.resolve(schema);
        if let Some(forms) = forms(schema) {
            let first = forms.first().filter(|_| !forms.iter().any(is_null));
            return first.map_or(Value::Null, |form| self.sample(form));
        }
        if let Some(words) = words(schema) {
            return words.first().copied().into();
        }
        match types(schema).first().copied() {
            Some("string") if word(schema, "format") == Some(HumanDuration::FORMAT) => "1s".into(),
            Some("string") => "".into(),
            Some("integer") => (bounds(schema).0.unwrap_or(1.0).max(1.0) as u64).into(),
            Some("number") => bounds(schema).0.unwrap_or(1.0).max(1.0).into(),
            Some("boolean") => false.into(),
            Some("array") => Value::Array(Vec::new()),
            Some("object") => {
                let keys = Keys::new(schema);
                let needed = keys.required.iter().copied().chain(keys.tags().next());
                let sampled = needed.filter_map(|key| {
                    let value = self.sample(keys.schema_of(key)?);
                    Some((key.to_owned(), value))
                });
                Value::Object(sampled.collect())
            }
            _ => Value::Null,
        }
    }
}
