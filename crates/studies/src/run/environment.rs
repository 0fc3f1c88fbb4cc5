//! The facts about the machine as lines.

use serde_json::Value;

use super::proof::Fact;

/// Flattens the manifest's environment to lines named by their path, in the manifest's order.
pub(crate) fn facts(environment: &Value) -> Vec<Fact> {
    let mut found = Vec::new();
    flatten("", environment, &mut found);
    found
}

fn flatten(name: &str, value: &Value, found: &mut Vec<Fact>) {
    let below = |key: &str| {
        if name.is_empty() {
            key.to_owned()
        } else {
            format!("{name}.{key}")
        }
    };
    match value {
        Value::Null => {}
        Value::Object(entries) => {
            entries
                .iter()
                .for_each(|(key, value)| flatten(&below(key), value, found));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let numbered = items.iter().enumerate();
            numbered.for_each(|(index, item)| flatten(&below(&index.to_string()), item, found));
        }
        Value::Array(items) => {
            let value = items.iter().map(scalar).collect::<Vec<_>>().join(", ");
            found.push(Fact {
                name: name.to_owned(),
                value,
            });
        }
        _ => found.push(Fact {
            name: name.to_owned(),
            value: scalar(value),
        }),
    }
}

/// A string without its quotes; any other value as JSON.
fn scalar(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
