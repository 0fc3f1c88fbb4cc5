//! A document in which references can be followed.

use serde_json::Value;

/// The largest number of references that are followed in a row.
const HOPS_MAX: usize = 16;

pub(super) struct Document {
    pub(super) root: Value,
}

impl Document {
    pub(super) fn new(root: Value) -> Self {
        Self { root }
    }

    /// The value at these keys; null if there is none.
    pub(super) fn at(&self, keys: &[&str]) -> Value {
        let mut value = &self.root;
        for key in keys {
            value = value.get(key).unwrap_or(&Value::Null);
        }
        self.resolved(value).clone()
    }

    /// The value, or the value to which it refers.
    pub(super) fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let mut value = value;
        for _ in 0..HOPS_MAX {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return value;
            };
            let place = reference
                .strip_prefix('#')
                .and_then(|it| self.root.pointer(it));
            let Some(found) = place else {
                return &Value::Null;
            };
            value = found;
        }
        &Value::Null
    }
}
