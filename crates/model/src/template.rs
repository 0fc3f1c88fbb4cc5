//! Templates: text with values of `data`, written `{{ name }}` or `{{ name.column }}`.
//!
//! A value in quotes is literal, so `{{ "{{" }}` writes two braces. A `}}` that closes no `{{` is
//! plain text, because many JSON bodies end with it.

use std::ops::Range;

use thiserror::Error;

/// A string, split into literal text and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text; never empty, and never followed by more literal text.
    Text(String),
    Value(Reference),
}

/// A reference to a value, written `source` or `source.column`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The source under `data`.
    pub source: String,
    /// The column, if the source has columns.
    pub column: Option<String>,
    /// The byte range in the text, from the opening to the closing braces.
    pub span: Range<usize>,
}

/// A mistake in a template, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}; {help}")]
pub struct TemplateError {
    /// The byte range of the mistake in the text.
    pub span: Range<usize>,
    pub message: String,
    pub help: String,
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

impl Template {
    /// # Errors
    /// The braces are not closed, or contain something other than a name or a string in quotes.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut template = Self { pieces: Vec::new() };
        let mut at = 0;
        while let Some(open) = text[at..].find(OPEN).map(|found| at + found) {
            template.text(&text[at..open]);
            at = template.slot(text, open)?;
        }
        template.text(&text[at..]);
        Ok(template)
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Value(reference) => Some(reference),
        })
    }

    /// Returns the text of a template without values, or `None` if it has values.
    pub fn constant(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Text(text.into())),
        }
    }

    /// Parses the braces that open at `open`, and returns their end.
    fn slot(&mut self, text: &str, open: usize) -> Result<usize, TemplateError> {
        let after = open + OPEN.len();
        let inner = text[after..].trim_start_matches(' ');
        if let Some(quote @ ('"' | '\'')) = inner.chars().next() {
            let begin = text.len() - inner.len() + 1;
            let end = text[begin..].find(quote).map(|found| begin + found);
            let end = end.ok_or_else(|| unclosed(text, open))?;
            let rest = text[end + 1..].trim_start_matches(' ');
            if !rest.starts_with(CLOSE) {
                return Err(unclosed(text, open));
            }
            self.text(&text[begin..end]);
            return Ok(text.len() - rest.len() + CLOSE.len());
        }
        let end = text[after..].find(CLOSE).map(|found| after + found);
        let end = end.ok_or_else(|| unclosed(text, open))?;
        let span = open..end + CLOSE.len();
        let reference = reference(text[after..end].trim_matches(' '), span)?;
        self.pieces.push(Piece::Value(reference));
        Ok(end + CLOSE.len())
    }
}

/// Returns a template that renders to exactly this text.
pub fn escape(text: &str) -> String {
    text.replace(OPEN, "{{ \"{{\" }}")
}

fn reference(words: &str, span: Range<usize>) -> Result<Reference, TemplateError> {
    let (source, column) = match words.split_once('.') {
        Some((source, column)) => (source, Some(column)),
        None => (words, None),
    };
    if is_source_name(source) && column.is_none_or(is_column_name) {
        return Ok(Reference {
            source: source.into(),
            column: column.map(str::to_owned),
            span,
        });
    }
    Err(TemplateError {
        span,
        message: "there is no valid name between `{{` and `}}`".into(),
        help: format!("write `{{{{ name }}}}` or `{{{{ name.column }}}}`; {LITERAL}"),
    })
}

pub(crate) const LITERAL: &str = "to send two braces, write `{{ \"{{\" }}`";

pub(crate) fn is_source_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(allowed)
}

pub(crate) fn is_column_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !name.is_empty() && name.chars().all(allowed)
}

fn unclosed(text: &str, open: usize) -> TemplateError {
    let line = text[open..].find('\n').map_or(text.len(), |end| open + end);
    TemplateError {
        span: open..line,
        message: "`{{` is not closed".into(),
        help: format!("close it with `}}}}`; {LITERAL}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let template = Template::parse(text).unwrap();
        let show = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(it) => format!("<{}:{}>", it.source, it.column.as_deref().unwrap_or("")),
        };
        template.pieces().iter().map(show).collect()
    }

    #[test]
    fn values_are_separated_from_the_text() {
        assert_eq!(
            shown("/a/{{ id }}?mail={{users.e-mail}}&x"),
            ["/a/", "<id:>", "?mail=", "<users:e-mail>", "&x"]
        );
        assert_eq!(shown("{{a}}{{ b }}"), ["<a:>", "<b:>"]);
        assert!(shown("").is_empty());
    }

    #[test]
    fn braces_of_json_and_braces_in_quotes_are_text() {
        assert_eq!(shown(r#"{"a": {"b": 1}}"#), [r#"{"a": {"b": 1}}"#]);
        assert_eq!(shown(r#"x{{ "{{" }}y{{'}}'}}z"#), ["x{{y}}z"]);
    }

    #[test]
    fn a_mistake_in_a_template_is_reported_with_its_place() {
        for (text, span) in [
            ("ab{{ c", 2..6),
            ("{{ }}", 0..5),
            ("é{{ a b }}", 2..11),
            ("{{ \"a }}\nb", 0..8),
            ("{{ 'a' b }}", 0..11),
            ("{{ 1a }}", 0..8),
        ] {
            let error = Template::parse(text).unwrap_err();
            assert_eq!(error.span, span, "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "(\\PC|[{}\"' .a\n]){0,40}") {
            if let Err(error) = Template::parse(&text) {
                prop_assert!(text.get(error.span).is_some());
            }
        }

        #[test]
        fn escaped_text_is_rendered_unchanged(text in "(\\PC|[{}\"' \n]){0,40}") {
            let template = Template::parse(&escape(&text)).unwrap();
            prop_assert_eq!(template.constant(), Some(text.as_str()));
        }
    }
}
