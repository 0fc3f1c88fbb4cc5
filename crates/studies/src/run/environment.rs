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
    let below = |key: &str| match name.is_empty() {
        true => key.to_owned(),
        false => format!("{name}.{key}"),
    };
    let value = match value {
        Value::Null => return,
        Value::Object(entries) => {
            let entries = entries.iter();
            return entries.for_each(|(key, value)| flatten(&below(key), value, found));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let items = items.iter().enumerate();
            return items.for_each(|(index, it)| flatten(&below(&index.to_string()), it, found));
        }
        Value::Array(items) => items.iter().map(scalar).collect::<Vec<_>>().join(", "),
        _ => scalar(value),
    };
    let name = name.to_owned();
    found.push(Fact { name, value });
}

/// A string without its quotes; any other value as JSON.
fn scalar(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}
