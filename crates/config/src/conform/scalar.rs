//! Checks types, words, formats of text and ranges of numbers.

use std::ops::Range;

use serde_json::Value;

use super::{Place, Walker, about, description, list, words};
use crate::duration::HumanDuration;
use crate::node::{Data, Node};
use crate::suggest::{listed, nearest};

impl<'s> Walker<'s> {
    /// Checks a value that must be one of a set of words.
    pub(super) fn word(&mut self, node: &Node, words: &[&str], place: &Place<'s>) {
        if node.text().is_some_and(|text| words.contains(&text)) {
            return;
        }
        let written = self.written(node);
        let choice = listed(words.iter().copied(), "or");
        let help = match nearest(written, words.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? it can be {choice}"),
            None => format!("write {choice}"),
        };
        let (span, what) = match &node.data {
            Data::Null => (place.head.clone(), "is empty".into()),
            Data::List(_) | Data::Map(_) => {
                (node.head(), format!("is {}, not a word", kind(&node.data)))
            }
            _ => (node.span.clone(), format!("cannot be `{written}`")),
        };
        self.report(span, format!("{} {what}", place.name), help);
    }

    /// Reports whether a value has a type that the schema allows, or that one of its forms does.
    pub(super) fn may_be(&self, data: &Data, schema: &'s Value) -> bool {
        let schema = self.resolve(schema);
        match schema.get("anyOf").and_then(Value::as_array) {
            Some(forms) => forms.iter().any(|form| self.may_be(data, form)),
            None => types(schema).iter().any(|name| is(data, name)),
        }
    }

    /// Reports whether the value has a type that the schema allows; if not, adds a problem.
    pub(super) fn has_type(&mut self, node: &Node, schema: &Value, place: &Place<'s>) -> bool {
        let allowed = types(schema);
        if allowed.is_empty() || allowed.iter().any(|name| is(&node.data, name)) {
            return true;
        }
        let mut named = allowed.iter().copied().filter(|name| *name != "null");
        let wanted = named.next().unwrap_or("null");
        let (span, message) = match &node.data {
            Data::Null => (place.head.clone(), format!("{} is empty", place.name)),
            data => {
                let message = format!(
                    "{} must be {}, not {}",
                    place.name,
                    title(wanted),
                    kind(data)
                );
                (node.head(), message)
            }
        };
        let help = self.type_help(node, wanted, schema, place);
        self.report(span, message, help);
        false
    }

    fn type_help(&self, node: &Node, wanted: &str, schema: &Value, place: &Place<'_>) -> String {
        let written = self.written(node);
        match (wanted, &node.data) {
            ("string", _) if form(schema).is_some() => form(schema).unwrap_or_default().into(),
            ("string", Data::Integer(_) | Data::Float(_) | Data::Bool(_)) => {
                format!("put it in quotes: \"{written}\"")
            }
            ("integer" | "number", Data::Text(text)) if text.parse::<f64>().is_ok() => {
                format!("write it without quotes: {text}")
            }
            ("integer" | "number", _) => format!("write {}", range(schema)),
            ("boolean", _) => "write true or false".into(),
            ("array", Data::Null) => format!(
                "add items below it, each beginning with `- `{}",
                about(place.description)
            ),
            ("array", _) => "write a list: each item on its own line, beginning with `- `".into(),
            ("object", _) => self.object_help(schema),
            _ => format!("write {}{}", title(wanted), about(place.description)),
        }
    }

    fn object_help(&self, schema: &Value) -> String {
        let own = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let tagged = list(schema, "oneOf")
            .iter()
            .filter_map(|branch| branch.get("properties")?.as_object())
            .flatten();
        let keys: Vec<&str> = own.chain(tagged).map(|(key, _)| key.as_str()).collect();
        match keys.as_slice() {
            [] => "write keys and values, one `key: value` on each line".into(),
            keys => format!(
                "write keys and values; the keys here are {}",
                listed(keys.iter().copied(), "and")
            ),
        }
    }

    /// Checks the format of a string: its pattern, then the formats that only code can check.
    pub(super) fn text_form(
        &mut self,
        text: &str,
        span: &Range<usize>,
        schema: &'s Value,
        place: &Place<'s>,
    ) {
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
            return;
        };
        // The patterns are constants, and a test compiles all of them.
        let matches = regex_lite::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
        let help = form(schema).unwrap_or_else(|| description(schema));
        if !matches {
            let message = format!("{} cannot be `{}`", place.name, shortened(text));
            self.report(span.clone(), message, help.into());
        } else if schema.get("format").and_then(Value::as_str) == Some(HumanDuration::FORMAT)
            && let Err(error) = text.parse::<HumanDuration>()
        {
            let help = "write a shorter duration, as in 24h".into();
            self.report(span.clone(), error.to_string(), help);
        }
    }

    pub(super) fn range(&mut self, node: &Node, schema: &Value, place: &Place<'s>) {
        let Some(number) = node.number() else { return };
        let (least, most) = bounds(schema);
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            let message = format!("{} is out of range: {}", place.name, self.written(node));
            let help = format!("write {}", range(schema));
            self.report(node.span.clone(), message, help);
        }
    }
}

pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ if words(schema).is_some() => vec!["string"],
        // A choice between tagged settings is a choice between mappings.
        _ if schema.get("oneOf").is_some() => vec!["object"],
        _ => Vec::new(),
    }
}

fn is(data: &Data, type_name: &str) -> bool {
    match data {
        Data::Null => type_name == "null",
        Data::Bool(_) => type_name == "boolean",
        Data::Integer(_) => matches!(type_name, "integer" | "number"),
        Data::Float(_) => type_name == "number",
        Data::Text(_) => type_name == "string",
        Data::List(_) => type_name == "array",
        Data::Map(_) => type_name == "object",
    }
}

/// Describes the type of a value for the user.
fn kind(data: &Data) -> &'static str {
    match data {
        Data::Null => "empty",
        Data::Bool(_) => "true or false",
        Data::Integer(_) => "a whole number",
        Data::Float(_) => "a number with a fraction",
        Data::Text(_) => "text",
        Data::List(_) => "a list",
        Data::Map(_) => "keys and values",
    }
}

/// Describes a type of JSON Schema for the user.
pub(super) fn title(type_name: &str) -> &'static str {
    match type_name {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "keys and values",
        _ => "empty",
    }
}

/// Describes the required format of a string.
fn form(schema: &Value) -> Option<&str> {
    schema.get("patternErrorMessage").and_then(Value::as_str)
}

/// The minimum and the maximum, from keywords or from the width of the integer.
pub(super) fn bounds(schema: &Value) -> (Option<f64>, Option<f64>) {
    let number = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let width = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(f64::from(u8::MAX)),
        Some("uint16") => Some(f64::from(u16::MAX)),
        Some("uint32") => Some(f64::from(u32::MAX)),
        _ => None,
    };
    (number("minimum"), number("maximum").or(width))
}

fn range(schema: &Value) -> String {
    let noun = types(schema)
        .into_iter()
        .find(|name| *name != "null")
        .map_or("a number", title);
    match bounds(schema) {
        (Some(least), Some(most)) => format!("{noun} from {least} to {most}"),
        (Some(least), None) => format!("{noun} of at least {least}"),
        (None, Some(most)) => format!("{noun} of at most {most}"),
        (None, None) => noun.into(),
    }
}

/// A string short enough for a sentence.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into(),
    }
}
