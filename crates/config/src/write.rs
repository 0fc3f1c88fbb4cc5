//! Writes values as readable YAML in block style, with short values on one line.

use serde_json::{Map, Value};

/// The maximum length of a list or mapping on one line, in characters. It includes the indentation,
/// but not the key.
const FLOW_CHARS_MAX: usize = 88;

/// Words to put in quotes, because a YAML parser may read them as values of other types.
const WORDS: [&str; 12] = [
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", "none", "nan",
];

/// Returns a value as a YAML document that ends with a newline.
pub fn write_yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => mapping(members, indent, out),
        Value::Array(items) if is_plain_list(items) => filled(items, indent, out),
        Value::Array(items) if !items.is_empty() => list(items, indent, out),
        scalar => {
            out.push_str(&flow(scalar));
            out.push('\n');
        }
    }
}

fn mapping(members: &Map<String, Value>, indent: usize, out: &mut String) {
    for (number, (key, value)) in members.iter().enumerate() {
        if number > 0 {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(&text(key));
        out.push(':');
        below(value, indent, indent == 0, out);
    }
}

fn list(items: &[Value], indent: usize, out: &mut String) {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str("- ");
        match one_line(item, indent + 2) {
            Some(line) => out.push_str(&format!("{line}\n")),
            None if item.is_string() => literal(item, indent, out),
            None => block(item, indent + 2, out),
        }
    }
}

/// Reports whether the list has items, none of which is a list, a mapping or a string that is
/// written as a literal block.
fn is_plain_list(items: &[Value]) -> bool {
    let is_plain = |item: &Value| !item.is_array() && !item.is_object() && !has_literal(item);
    !items.is_empty() && items.iter().all(is_plain)
}

/// Writes a list in brackets, with as many values on each line as fit.
fn filled(items: &[Value], indent: usize, out: &mut String) {
    let mut width = indent;
    out.push('[');
    for (number, item) in items.iter().enumerate() {
        let word = flow(item);
        if number > 0 {
            out.push(',');
            if width + word.chars().count() > FLOW_CHARS_MAX {
                out.push_str(&format!("\n{}", " ".repeat(indent)));
                width = indent;
            }
            out.push(' ');
        }
        width += word.chars().count() + 2;
        out.push_str(&word);
    }
    out.push_str("]\n");
}

/// Writes the value of a key. Below a top-level key, a list that contains a mapping always begins
/// on a new line.
fn below(value: &Value, indent: usize, is_top: bool, out: &mut String) {
    let is_list = matches!(value, Value::Array(items) if items.iter().any(Value::is_object));
    let line = one_line(value, indent + 2).filter(|_| !(is_top && is_list));
    match line {
        Some(line) => out.push_str(&format!(" {line}\n")),
        None if value.is_string() => {
            out.push(' ');
            literal(value, indent, out);
        }
        None => {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            block(value, indent + 2, out);
        }
    }
}

/// The value on one line; `None` if it contains a literal block, or is a list or a mapping that is
/// too long.
fn one_line(value: &Value, indent: usize) -> Option<String> {
    let line = flow(value);
    let is_short = line.chars().count() + indent <= FLOW_CHARS_MAX;
    match value {
        Value::String(text) => (!is_literal(text)).then_some(line),
        Value::Array(_) | Value::Object(_) => (is_short && !has_literal(value)).then_some(line),
        _ => Some(line),
    }
}

fn has_literal(value: &Value) -> bool {
    match value {
        Value::String(text) => is_literal(text),
        Value::Array(items) => items.iter().any(has_literal),
        Value::Object(members) => members.values().any(has_literal),
        _ => false,
    }
}

/// Reports whether the text has several lines and fits in a literal block unchanged.
fn is_literal(text: &str) -> bool {
    let fits = |line: &str| line.trim_end() == line && !line.chars().any(|c| c.is_control());
    let first = text.chars().next().unwrap_or(' ');
    let (lines, _) = lines_of(text);
    lines.contains('\n')
        && !lines.ends_with('\n')
        && !first.is_whitespace()
        && lines.split('\n').all(fits)
}

/// The text without its final newline, and the indicator of a literal block that keeps or omits
/// this newline.
fn lines_of(text: &str) -> (&str, &str) {
    match text.strip_suffix('\n') {
        Some(lines) => (lines, "|"),
        None => (text, "|-"),
    }
}

fn literal(value: &Value, indent: usize, out: &mut String) {
    let (lines, indicator) = lines_of(value.as_str().unwrap_or_default());
    out.push_str(indicator);
    out.push('\n');
    for line in lines.split('\n') {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent + 2));
            out.push_str(line);
        }
        out.push('\n');
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::String(it) => text(it),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}: {}", text(key), flow(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

/// A string, in quotes unless YAML certainly parses it as the same string without them.
fn text(text: &str) -> String {
    let first = text.chars().next().unwrap_or(' ');
    let is_plain = (first.is_ascii_alphabetic() || first == '/')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./ ".contains(c))
        && text.trim() == text
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain || is_duration(text) {
        text.to_owned()
    } else if text
        .chars()
        .any(|c| c.is_control() || "\u{85}\u{2028}\u{2029}\u{feff}".contains(c))
    {
        Value::from(text).to_string()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Reports whether the text is digits followed by a time unit, which YAML does not parse as a
/// number.
fn is_duration(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < text.len() && matches!(digits, "us" | "ms" | "s" | "m" | "h")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read_back(value: &Value) -> Value {
        crate::yaml_value(&write_yaml(value)).unwrap()
    }

    #[test]
    fn documents_are_written_readably() {
        let value = json!({
            "scenario": "x",
            "title": "A title: with a colon",
            "routes": [{"name": "a", "path": "/a"}],
            "requests": [{"path": "/a/{{ id }}", "body": "one\n  two", "name": "a\nb\n", "checks": [{"status": 200}]}]
        });
        let expected = "\
scenario: x
title: 'A title: with a colon'
routes:
  - {name: a, path: /a}
requests:
  - path: '/a/{{ id }}'
    body: |-
      one
        two
    name: |
      a
      b
    checks: [{status: 200}]
";
        assert_eq!(write_yaml(&value), expected);
        assert_eq!(read_back(&value), value);
    }

    fn values() -> impl Strategy<Value = Value> {
        let scalars = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            Just(Value::Null),
            "(\\PC|[\n\t'\":#{}\\[\\],&*!|>%@ -]){0,30}".prop_map(Value::from),
        ];
        scalars.prop_recursive(4, 30, 5, |inner| {
            let members = prop::collection::vec(("[a-z:' ]{1,5}", inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_read_back(value in values()) {
            let value = json!({"value": value});
            prop_assert_eq!(read_back(&value), value);
        }
    }
}
