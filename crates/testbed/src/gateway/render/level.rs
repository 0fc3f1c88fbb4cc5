//! The input for templates: maps that record the last name that was not found, and the names at its
//! level.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Serde};
use serde_json::Value as Json;

/// A name that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// The name in the template.
    pub(crate) name: String,
    /// The names at that level.
    pub(crate) known: Vec<String>,
}

/// The last miss, which is the cause of an undefined value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misses(Arc<Mutex<Option<Miss>>>);

impl Misses {
    /// Takes the last miss.
    pub(crate) fn take(&self) -> Option<Miss> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, miss: Miss) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(miss);
    }
}

/// A map of the input, with few names, which a linear search finds. Its values are made once and
/// not copied by a look-up, because templates look up lists of thousands of items in loops of
/// thousands of rounds.
#[derive(Debug)]
struct Level {
    entries: Vec<(String, Value)>,
    misses: Misses,
}

impl Object for Level {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let found = self.entries.iter().find(|(known, _)| known == name);
        if found.is_none() {
            self.misses.note(Miss {
                name: name.into(),
                known: self.entries.iter().map(|(name, _)| name.clone()).collect(),
            });
        }
        found.map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names = self.entries.iter().map(|(name, _)| Value::from(name));
        Enumerator::Values(names.collect())
    }
}

/// Converts JSON to a value of templates.
pub(crate) fn value(json: Json, misses: &Misses) -> Value {
    match json {
        Json::Object(map) => Value::from_object(Level {
            entries: map
                .into_iter()
                .map(|(name, json)| (name, value(json, misses)))
                .collect(),
            misses: misses.clone(),
        }),
        Json::Array(items) => items
            .into_iter()
            .map(|item| value(item, misses))
            .collect::<Vec<Value>>()
            .into(),
        scalar => Value::from(Serde(scalar)),
    }
}
