//! A document whose references can be resolved.

use serde_json::Value;

/// A chain of this many references cannot be resolved.
const HOPS_MAX: usize = 16;

pub(super) struct Document {
    pub(super) root: Value,
}

impl Document {
    /// Returns the value at these keys, or null if there is no such value. If the value is a
    /// reference, it is resolved.
    pub(super) fn at(&self, keys: &[&str]) -> Value {
        let value = keys
            .iter()
            .try_fold(&self.root, |value, key| value.get(key));
        self.resolved(value.unwrap_or(&Value::Null)).clone()
    }

    /// Follows references up to a value that is not a reference. Returns null if a reference cannot
    /// be resolved.
    pub(super) fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let mut value = value;
        for _ in 0..HOPS_MAX {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return value;
            };
            let pointer = reference.strip_prefix('#');
            let found = pointer.and_then(|it| self.root.pointer(it));
            value = found.unwrap_or(&Value::Null);
        }
        &Value::Null
    }
}
