//! Finds the parameters of a request and the headers of a response, splits them as their style
//! requires, and checks them against their schema.

use std::borrow::Cow;

use gatebench_net::http1::Head;
use serde_json::Value;

use super::document::{Direction, Document};
use super::json;
use super::schema::Schema;
use super::shape::Shape;
use crate::config::ConfigError;
use crate::message::Refusal;
use crate::path::query;

/// The part of a request that contains a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

/// The notation of values that have several parts (OpenAPI 3.1 4.8.12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Values separated by commas, in paths and headers.
    Simple,
    /// Repeated parameters in the query, or values separated by commas in the query and in cookies.
    Form,
    Blanks,
    Bars,
    /// `name[member]=value`.
    Deep,
    /// JSON, which is assumed for every parameter with `content`.
    Json,
}

/// The error for a parameter with two values, which is refused because the next reader could use
/// the other one.
const TWICE: &str = "it appears more than once";

#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    place: Place,
    is_required: bool,
    may_be_empty: bool,
    style: Style,
    explodes: bool,
    shape: Shape,
    schema: Option<Schema>,
}

impl Parameter {
    /// Compiles the parameter at a pointer; returns `None` for a header that OpenAPI ignores (3.1
    /// 4.8.12.1).
    pub(super) fn compile(document: &Document, pointer: &str) -> Result<Option<Self>, ConfigError> {
        let wrong = |message: &str, remedy: &str| ConfigError::new(message, remedy).below(pointer);
        let name = document.text(pointer, "name");
        let name = name.ok_or_else(|| wrong("the parameter has no name", "write one"))?;
        let place = match document.text(pointer, "in") {
            Some("path") => Place::Path,
            Some("query") => Place::Query,
            Some("header") => Place::Header,
            Some("cookie") => Place::Cookie,
            _ => {
                let message = "`in` is not path, query, header or cookie";
                return Err(wrong(message, "write one of them"));
            }
        };
        const NOT_PARAMETERS: [&str; 3] = ["accept", "content-type", "authorization"];
        let is_other = NOT_PARAMETERS
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other));
        if place == Place::Header && is_other {
            return Ok(None);
        }
        let flag = |key| document.flag(pointer, key);
        let parameter = Self::of_schema(document, pointer, name, place, Direction::Request)?;
        Ok(Some(Self {
            is_required: flag("required").unwrap_or(false) || place == Place::Path,
            may_be_empty: flag("allowEmptyValue").unwrap_or(false),
            ..parameter
        }))
    }

    pub(super) fn of_response(
        document: &Document,
        pointer: &str,
        name: &str,
    ) -> Result<Self, ConfigError> {
        let header = Self::of_schema(document, pointer, name, Place::Header, Direction::Response)?;
        Ok(Self {
            is_required: document.flag(pointer, "required").unwrap_or(false),
            ..header
        })
    }

    fn of_schema(
        document: &Document,
        pointer: &str,
        name: &str,
        place: Place,
        direction: Direction,
    ) -> Result<Self, ConfigError> {
        let content = document.entries(&format!("{pointer}/content"));
        let (place_of_schema, style) = match content.first() {
            Some((_, media)) => (format!("{media}/schema"), Style::Json),
            None => {
                let style = style(document.text(pointer, "style"), place)
                    .map_err(|wrong| wrong.below(pointer))?;
                (format!("{pointer}/schema"), style)
            }
        };
        let has_schema = document.at(&place_of_schema).is_some();
        let schema = has_schema.then(|| document.schemas(direction).compile(&place_of_schema));
        Ok(Self {
            name: name.to_owned(),
            place,
            is_required: false,
            may_be_empty: false,
            style,
            explodes: document
                .flag(pointer, "explode")
                .unwrap_or(style == Style::Form),
            shape: Shape::of(document, &place_of_schema),
            schema: schema.transpose()?,
        })
    }

    /// Reports whether both define the same parameter. The operation's definition then takes
    /// precedence over the path item's.
    pub(super) fn overrides(&self, other: &Self) -> bool {
        self.place == other.place && self.name == other.name
    }

    pub(super) fn header(&self) -> Option<&str> {
        (self.place == Place::Header).then_some(self.name.as_str())
    }

    /// Reports whether the value is written as several parts, so repeated header lines can be
    /// joined.
    fn is_list(&self) -> bool {
        self.style != Style::Json && (self.shape.is_array || self.shape.is_object())
    }

    /// Checks a request against this parameter; the refusal names the parameter.
    pub(super) fn judge(
        &self,
        head: &Head<'_>,
        in_path: &[(&str, &str)],
    ) -> Result<(), Box<Refusal>> {
        let place = match self.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
            Place::Cookie => "cookie",
        };
        self.judge_words(head, in_path).map_err(|words| {
            let words = format!("the {place} parameter `{}`: {words}", self.name);
            Refusal::new(400, words)
        })
    }

    /// Checks a request or response against this parameter; the error does not name it.
    pub(super) fn judge_words(
        &self,
        head: &Head<'_>,
        in_path: &[(&str, &str)],
    ) -> Result<(), String> {
        let value = match self.value(head, in_path)? {
            Some(value) => value,
            None if self.is_required => return Err("it is missing".into()),
            None => return Ok(()),
        };
        match &self.schema {
            Some(schema) => schema.judge(&value),
            None => Ok(()),
        }
    }

    fn value(&self, head: &Head<'_>, in_path: &[(&str, &str)]) -> Result<Option<Value>, String> {
        match self.place {
            Place::Path => {
                let mut values = in_path.iter();
                let found = values.find(|(name, _)| *name == self.name);
                let text = found.map(|(_, text)| *text);
                text.map(|text| self.parts(text, ',', true)).transpose()
            }
            Place::Header => {
                let fields = head.fields();
                let mut lines = fields.filter(|field| field.name.eq_ignore_ascii_case(&self.name));
                let Some(first) = lines.next() else {
                    return Ok(None);
                };
                let text = std::str::from_utf8(first.value).map_err(|_| NOT_UTF_8)?;
                // If the parameter is a list, several lines form one list (RFC 9110 5.3).
                let mut lines = lines.peekable();
                if lines.peek().is_some() && !self.is_list() {
                    return Err(TWICE.into());
                }
                let joined = lines.try_fold(Cow::Borrowed(text), |all, next| {
                    let next = std::str::from_utf8(next.value).map_err(|_| NOT_UTF_8)?;
                    Ok::<_, &str>(Cow::Owned(format!("{all},{next}")))
                })?;
                self.parts(&joined, ',', false).map(Some)
            }
            Place::Cookie => {
                let fields = head.fields();
                let fields = fields.filter(|field| field.name.eq_ignore_ascii_case("Cookie"));
                let pairs = fields.flat_map(|field| field.value.split(|&byte| byte == b';'));
                let mut found = None;
                for pair in pairs {
                    let mut halves = pair.splitn(2, |&byte| byte == b'=').map(<[u8]>::trim_ascii);
                    if halves.next() == Some(self.name.as_bytes())
                        && let Some(value) = halves.next()
                        && found.replace(value).is_some()
                    {
                        return Err(TWICE.into());
                    }
                }
                let text = found.map(std::str::from_utf8).transpose();
                let text = text.map_err(|_| NOT_UTF_8)?;
                text.map(|text| self.parts(text, ',', false)).transpose()
            }
            Place::Query => self.of_query(query::query_of(head.target())),
        }
    }

    fn of_query(&self, query: &str) -> Result<Option<Value>, String> {
        if self.style == Style::Deep {
            return self.object_of(query, |name| {
                let member = name.strip_prefix(self.name.as_str())?;
                member.strip_prefix('[')?.strip_suffix(']')
            });
        }
        if self.style == Style::Form && self.explodes && self.shape.is_object() {
            let is_known = |name: &str| self.shape.members().any(|member| member == name);
            return self.object_of(query, |name| is_known(name).then_some(name));
        }
        let named = query::parameters(query).filter_map(|(name, text)| {
            let is_this = decoded(name, true).is_ok_and(|name| name == self.name);
            is_this.then_some(text)
        });
        let texts: Vec<&str> = named.collect();
        let Some(last) = texts.last() else {
            return Ok(None);
        };
        // With these styles, a single parameter may also contain the whole array.
        let is_delimited = matches!(self.style, Style::Blanks | Style::Bars);
        let is_repeated = self.style == Style::Form || is_delimited && texts.len() > 1;
        if self.shape.is_array && self.explodes && is_repeated {
            let texts: Result<Vec<_>, _> = texts.iter().map(|text| decoded(text, true)).collect();
            return Ok(Some(self.shape.array(texts?.iter().map(AsRef::as_ref))));
        }
        if texts.len() > 1 {
            return Err(TWICE.into());
        }
        if last.is_empty() && self.may_be_empty {
            return Ok(None);
        }
        let separator = match self.style {
            Style::Blanks => ' ',
            Style::Bars => '|',
            _ => ',',
        };
        if separator != ',' {
            // These separators are written as %20 and %7C, so the value is decoded before it is
            // split.
            let text = decoded(last, true)?;
            return self.parts(&text, separator, false).map(Some);
        }
        let value = self.parts(&last.replace('+', "%20"), separator, true)?;
        Ok(Some(value))
    }

    /// Parses a string as the parameter's style and shape require. If the text is still encoded,
    /// each part is decoded after splitting.
    fn parts(&self, text: &str, separator: char, is_encoded: bool) -> Result<Value, String> {
        let plain = |part| {
            if is_encoded {
                decoded(part, false)
            } else {
                Ok(Cow::Borrowed(part))
            }
        };
        if self.style == Style::Json {
            let text = plain(text)?;
            return json::read(text.as_bytes()).map_err(|error| format!("it is not JSON: {error}"));
        }
        if !self.shape.is_array && !self.shape.is_object() {
            return Ok(self.shape.value(&plain(text)?));
        }
        let parts: Result<Vec<_>, _> = text.split(separator).map(plain).collect();
        let parts = parts?;
        let mut parts = parts.iter().map(AsRef::as_ref);
        if self.shape.is_array {
            return Ok(self.shape.array(parts));
        }
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        while let Some(part) = parts.next() {
            let pair = if self.explodes {
                part.split_once('=')
            } else {
                parts.next().map(|value| (part, value))
            };
            pairs.push(pair.ok_or("a member has no value")?);
        }
        self.shape.object(pairs.into_iter())
    }

    /// Returns the object that several query parameters form together. `member_of` converts a
    /// parameter's name to a member's name. Returns `None` if no parameter is a member.
    fn object_of(
        &self,
        query: &str,
        member_of: impl Fn(&str) -> Option<&str>,
    ) -> Result<Option<Value>, String> {
        let all = decoded_parameters(query)?;
        let pairs = all.iter();
        let mut pairs = pairs
            .filter_map(|(name, text)| Some((member_of(name)?, &**text)))
            .peekable();
        let has_any = pairs.peek().is_some();
        has_any.then(|| self.shape.object(pairs)).transpose()
    }
}

fn style(word: Option<&str>, place: Place) -> Result<Style, ConfigError> {
    match (word, place) {
        (None | Some("simple"), Place::Path | Place::Header) => Ok(Style::Simple),
        (None | Some("form"), Place::Query | Place::Cookie) => Ok(Style::Form),
        (Some("spaceDelimited"), Place::Query) => Ok(Style::Blanks),
        (Some("pipeDelimited"), Place::Query) => Ok(Style::Bars),
        (Some("deepObject"), Place::Query) => Ok(Style::Deep),
        (word, _) => Err(ConfigError::new(
            format!(
                "the style {} is not supported here",
                word.unwrap_or_default()
            ),
            "leave it out; the default is simple (path, header) or form (query, cookie)",
        )),
    }
}

/// The name and the value of a parameter, both decoded.
pub(super) type Pair<'q> = (Cow<'q, str>, Cow<'q, str>);

/// Returns the decoded parameters of a query or of a form. Fails if one is not UTF-8.
pub(super) fn decoded_parameters(query: &str) -> Result<Vec<Pair<'_>>, String> {
    let pairs = query::parameters(query);
    pairs
        .map(|(name, text)| Ok((decoded(name, true)?, decoded(text, true)?)))
        .collect()
}

/// Decodes `%XX` and, with `is_form`, `+`.
fn decoded(text: &str, is_form: bool) -> Result<Cow<'_, str>, &'static str> {
    query::decoded(text, is_form).ok_or(NOT_UTF_8)
}

const NOT_UTF_8: &str = "it is not UTF-8";
