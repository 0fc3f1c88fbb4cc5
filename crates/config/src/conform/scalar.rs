//! Checks types, words, formats of strings and ranges of numbers.

use std::ops::Range;

use serde_json::Value;

use super::mapping::Keys;
use super::{Place, Walker, about, description, forms, word, words};
use crate::duration::HumanDuration;
use crate::node::{Data, Node};
use crate::suggest::{listed, nearest};

impl<'s> Walker<'s> {
    pub(super) fn one_of_words(&mut self, node: &Node, words: &[&str], place: &Place<'s>) {
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
            data @ (Data::List(_) | Data::Map(_)) => {
                (node.head(), format!("is {}, not a word", kind(data)))
            }
            _ => (node.span.clone(), format!("cannot be `{written}`")),
        };
        self.report(span, format!("{} {what}", place.name), help);
    }

    /// Reports whether the schema, or one of its forms, explicitly allows the type of a value.
    pub(super) fn may_be(&self, data: &Data, schema: &'s Value) -> bool {
        let schema = self.resolve(schema);
        match forms(schema) {
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
                let (wanted, found) = (title(wanted), kind(data));
                let message = format!("{} must be {wanted}, not {found}", place.name);
                (node.head(), message)
            }
        };
        let help = self.type_help(node, wanted, schema, place);
        self.report(span, message, help);
        false
    }

    fn type_help(&self, node: &Node, wanted: &str, schema: &Value, place: &Place<'_>) -> String {
        if let Some(form) = form(schema).filter(|_| wanted == "string") {
            return form.into();
        }
        let written = self.written(node);
        match (wanted, &node.data) {
            ("string", Data::Integer(_) | Data::Float(_) | Data::Bool(_)) => {
                format!("put it in quotes: \"{written}\"")
            }
            ("integer" | "number", Data::Text(text)) if text.parse::<f64>().is_ok() => {
                format!("write it without quotes: {text}")
            }
            ("integer" | "number", _) => format!("write {}", range(schema)),
            ("boolean", _) => "write true or false".into(),
            ("array", Data::Null) => {
                let about = about(place.description);
                format!("add items below it, each beginning with `- `{about}")
            }
            ("array", _) => "write a list: each item on its own line, beginning with `- `".into(),
            ("object", _) => self.object_help(schema),
            _ => format!("write {}{}", title(wanted), about(place.description)),
        }
    }

    fn object_help(&self, schema: &Value) -> String {
        let keys: Vec<&str> = Keys::new(schema).known().collect();
        match listed(keys.iter().copied(), "and") {
            _ if keys.is_empty() => "write keys and values, one `key: value` on each line".into(),
            keys => format!("write keys and values; the keys here are {keys}"),
        }
    }

    /// Checks a string against its pattern, and a duration against its maximum.
    pub(super) fn text_form(
        &mut self,
        text: &str,
        span: &Range<usize>,
        schema: &'s Value,
        place: &Place<'s>,
    ) {
        let Some(pattern) = word(schema, "pattern") else {
            return;
        };
        // Compilation cannot fail: the patterns are constants, and tests compile them.
        let matches = regex_lite::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
        let help = form(schema).unwrap_or_else(|| description(schema));
        if !matches {
            let message = format!("{} cannot be `{}`", place.name, shortened(text));
            self.report(span.clone(), message, help.into());
        } else if word(schema, "format") == Some(HumanDuration::FORMAT)
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
    type_name == type_of(data) || type_name == "number" && matches!(data, Data::Integer(_))
}

/// Returns the narrowest JSON Schema type of a value: `integer` rather than `number`.
fn type_of(data: &Data) -> &'static str {
    match data {
        Data::Null => "null",
        Data::Bool(_) => "boolean",
        Data::Integer(_) => "integer",
        Data::Float(_) => "number",
        Data::Text(_) => "string",
        Data::List(_) => "array",
        Data::Map(_) => "object",
    }
}

fn kind(data: &Data) -> &'static str {
    match data {
        Data::Float(_) => "a number with a fraction",
        _ => title(type_of(data)),
    }
}

fn title(type_name: &str) -> &'static str {
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

fn form(schema: &Value) -> Option<&str> {
    word(schema, "patternErrorMessage")
}

/// The minimum and the maximum from the keywords. If there is no `maximum`, the width of an
/// unsigned integer of 8, 16 or 32 bits sets it.
pub(super) fn bounds(schema: &Value) -> (Option<f64>, Option<f64>) {
    let number = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let width = || match word(schema, "format")? {
        "uint8" => Some(f64::from(u8::MAX)),
        "uint16" => Some(f64::from(u16::MAX)),
        "uint32" => Some(f64::from(u32::MAX)),
        _ => None,
    };
    (number("minimum"), number("maximum").or_else(width))
}

fn range(schema: &Value) -> String {
    let mut types = types(schema).into_iter();
    let noun = types.find(|name| *name != "null").map_or("a number", title);
    match bounds(schema) {
        (Some(least), Some(most)) => format!("{noun} from {least} to {most}"),
        (Some(least), None) => format!("{noun} of at least {least}"),
        (None, Some(most)) => format!("{noun} of at most {most}"),
        (None, None) => noun.into(),
    }
}

/// The first line of a string, cut off after 40 characters.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into(),
    }
}
