//! Removes members of generated files that are null or have their default values.

use serde_json::Value;

/// Members that are omitted if they are empty or false, because they then have no effect.
const EMPTY_IS_DEFAULT: [&str; 10] = [
    "parity",
    "strip_path",
    "policies",
    "keys",
    "password",
    "remove",
    "rename",
    "set",
    "add",
    "default",
];

const DEFAULTS: [(&str, &str); 14] = [
    ("method", "GET"),
    ("cache_ttl", "1h"),
    ("leeway", "0s"),
    ("soap_action", "no"),
    ("xslt_library", "libxslt"),
    ("direct", "true"),
    ("xslt_remove_empty_name_space", "true"),
    ("ignore_process_if_service_http_error", "false"),
    ("upstream_tls", "false"),
    ("verbose", "false"),
    ("drain", "2s"),
    ("timeout", "10s"),
    ("warm_up", "0s"),
    ("queue_max", "100000"),
];

/// Members with user-supplied values, whose contents are never omitted.
const FREE: [&str; 6] = ["set", "add", "default", "rename", "equals", "jwks"];

pub(crate) fn without_defaults(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, value| {
                let is_empty = match value {
                    Value::Null | Value::Bool(false) => true,
                    Value::Array(items) => items.is_empty(),
                    Value::Object(members) => members.is_empty(),
                    _ => false,
                };
                let word = match &*value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let is_default = DEFAULTS.contains(&(key, &word))
                    || is_empty && EMPTY_IS_DEFAULT.contains(&key.as_str());
                !is_default && !value.is_null()
            });
            for (key, value) in members {
                if !FREE.contains(&key.as_str()) {
                    without_defaults(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_defaults),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_omitted() {
        let mut value = json!({"strip_path": false, "policies": [], "requests": false, "of": null});
        without_defaults(&mut value);
        assert_eq!(value, json!({"requests": false}));
    }
}
