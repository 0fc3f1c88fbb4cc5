//! The Content-Types that a body may have, and the schema for each.

use serde_json::Value;

use super::document::{Direction, Document};
use super::json;
use super::parameter::decoded_parameters;
use super::schema::Schema;
use super::shape::Shape;
use crate::config::ConfigError;
use crate::message::{essence, is_json};

/// The Content-Types that one body may have, those without `*` first.
#[derive(Debug, Default)]
pub(super) struct Media(Vec<Kind>);

#[derive(Debug)]
struct Kind {
    /// In lower case, such as `application/json`, `text/*` or `*/*`.
    name: String,
    reader: Option<Reader>,
}

/// Parses and checks bodies of one Content-Type.
#[derive(Debug)]
enum Reader {
    Json(Schema),
    Form(Schema, Shape),
    Text(Schema),
}

impl Media {
    /// Compiles the map of Content-Types at a pointer.
    pub(super) fn compile(
        document: &Document,
        pointer: &str,
        direction: Direction,
    ) -> Result<Self, Vec<ConfigError>> {
        let kind = |(name, place): (String, String)| {
            let name = essence(name.as_bytes()).to_ascii_lowercase();
            let place = format!("{place}/schema");
            let schema = document.at(&place);
            let schema = schema.map(|_| document.schemas(direction).compile(&place));
            let shape = || Shape::of(document, &place);
            let schema = schema.transpose()?;
            let reader = schema.and_then(|schema| reader(&name, schema, shape));
            Ok::<_, ConfigError>(Kind { name, reader })
        };
        let entries = document.entries(pointer).into_iter();
        let mut mistakes = Vec::new();
        let mut kinds = ConfigError::gather(entries.map(kind), &mut mistakes);
        kinds.sort_by_key(|kind| kind.name.matches('*').count());
        ConfigError::unless(mistakes, Self(kinds))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of the entry that a Content-Type matches.
    pub(super) fn find(&self, content_type: &[u8]) -> Option<u32> {
        let essence = essence(content_type);
        let (class, _) = essence.split_once('/')?;
        let at = self
            .0
            .iter()
            .position(|kind| match kind.name.split_once('/') {
                Some(("*", "*")) => true,
                Some((kind_class, "*")) => kind_class.eq_ignore_ascii_case(class),
                _ => kind.name.eq_ignore_ascii_case(essence),
            })?;
        Some(at as u32)
    }

    /// Reports whether bodies that match the entry with this number are parsed and checked.
    pub(super) fn is_read(&self, number: u32) -> bool {
        self.reader(number).is_some()
    }

    fn reader(&self, number: u32) -> Option<&Reader> {
        self.0.get(number as usize)?.reader.as_ref()
    }

    pub(super) fn judge(&self, number: u32, body: &[u8]) -> Result<(), String> {
        let text = || std::str::from_utf8(body).map_err(|_| "the body is not UTF-8");
        let (schema, value) = match self.reader(number) {
            None => return Ok(()),
            Some(Reader::Json(schema)) => {
                let value = json::read(body);
                let value = value.map_err(|error| format!("the body is not JSON: {error}"))?;
                (schema, value)
            }
            Some(Reader::Form(schema, shape)) => (schema, form(text()?, shape)?),
            Some(Reader::Text(schema)) => (schema, Value::String(text()?.to_owned())),
        };
        let judged = schema.judge(&value);
        judged.map_err(|words| format!("the body: {words}"))
    }
}

fn reader(name: &str, schema: Schema, shape: impl FnOnce() -> Shape) -> Option<Reader> {
    match name {
        "application/x-www-form-urlencoded" => Some(Reader::Form(schema, shape())),
        _ if is_json(name) => Some(Reader::Json(schema)),
        "text/plain" => Some(Reader::Text(schema)),
        _ => None,
    }
}

/// Converts a form to an object; members that are arrays may occur several times.
fn form(text: &str, shape: &Shape) -> Result<Value, String> {
    let pairs = decoded_parameters(text)?;
    let single = pairs
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .filter(|(name, _)| !shape.member(name).is_array);
    let mut object = shape
        .object(single)
        .map_err(|words| format!("the body: {words}"))?;
    for name in shape.members().filter(|name| shape.member(name).is_array) {
        let texts = pairs.iter().filter(|(other, _)| other == name);
        let mut texts = texts.map(|(_, text)| text.as_ref()).peekable();
        if texts.peek().is_some() {
            object[name] = shape.member(name).array(texts);
        }
    }
    Ok(object)
}
