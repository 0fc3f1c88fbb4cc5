//! Converts the input for templates into maps that record the last name that was not found, and the
//! names that exist at its level.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Serde};
use serde_json::Value as Json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    pub(crate) name: String,
    pub(crate) known: Vec<String>,
}

/// The last miss, which explains an undefined value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misses(Arc<Mutex<Option<Miss>>>);

impl Misses {
    pub(crate) fn take(&self) -> Option<Miss> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, miss: Miss) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(miss);
    }
}

/// A map in the input. It has few names, so a linear search is enough. Its values are converted
/// once and not at each lookup, because templates look up lists of thousands of items in loops of
/// thousands of iterations.
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

pub(crate) fn value(json: Json, misses: &Misses) -> Value {
    match json {
        Json::Object(map) => {
            let entries = map.into_iter().map(|(name, it)| (name, value(it, misses)));
            Value::from_object(Level {
                entries: entries.collect(),
                misses: misses.clone(),
            })
        }
        Json::Array(items) => {
            let items = items.into_iter().map(|item| value(item, misses));
            Value::from_iter(items)
        }
        scalar => Value::from(Serde(scalar)),
    }
}
