//! The input as templates see it: maps that remember which name was looked up in vain, and which names
//! there were.

use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectRepr, Serde};
use serde_json::Value as Json;

/// A name that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// What the template says.
    pub(crate) name: String,
    /// The names there are at that level.
    pub(crate) known: Vec<String>,
}

/// The last miss. What comes last before an undefined value is what made it undefined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misses(Arc<Mutex<Option<Miss>>>);

impl Misses {
    /// Takes the last miss out.
    pub(crate) fn take(&self) -> Option<Miss> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, miss: Miss) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(miss);
    }
}

/// A map of the input: few names, of which a look at each in turn finds one. Its values are made once, and what
/// is looked up is one of them and not a copy, since templates look up lists of thousands in loops of thousands.
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

/// JSON as a value of templates.
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
