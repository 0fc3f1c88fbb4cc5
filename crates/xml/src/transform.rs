//! A stylesheet by itself: from text to text, as a gateway lays it over answers.

use crate::document::Document;
use crate::errors::Complaints;
use crate::imports::Files;
use crate::limits::Limits;
use crate::process::{Budget, Spent, with_stack};
use crate::stylesheet::{Parameters, Stylesheet};

/// A compiled stylesheet with the values of its parameters. Shared by all workers.
#[derive(Debug)]
pub struct Transform {
    stylesheet: Stylesheet,
    parameters: Parameters,
    limits: Limits,
}

/// What a message becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformed {
    /// The text, in UTF-8.
    pub body: Vec<u8>,
    /// What it is by now, where it is not what it was: the `media-type` of the stylesheet, else of HTML.
    pub media_type: Option<String>,
    /// The encoding, as the stylesheet spells it where it does.
    pub charset: Option<String>,
}

impl Transform {
    /// Compiles a stylesheet; what it imports and includes comes from `files`.
    ///
    /// # Errors
    /// What is wrong with it, or with the parameters.
    pub fn compile<'a>(
        text: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
        files: &(dyn Files + Sync),
    ) -> Result<Self, String> {
        let limits = Limits::default();
        let parameters = Parameters::new(parameters)?;
        let compiled = with_stack(|| {
            let _budget = Budget::begin(limits.allocated_bytes);
            Stylesheet::parse(text.as_bytes(), None, files, &limits)
        });
        let stylesheet = compiled
            .ok_or("there was no thread to compile with")?
            .map_err(|why| why.to_string())?;
        let encoding = stylesheet.output().encoding.as_deref();
        if let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("utf-8")) {
            return Err(format!(
                "its result would be in {encoding}; write encoding=\"UTF-8\" in xsl:output"
            ));
        }
        Ok(Self {
            stylesheet,
            parameters,
            limits,
        })
    }

    /// The same for messages of so many bytes.
    #[must_use]
    pub fn for_bodies_of(self, bytes: usize) -> Self {
        Self {
            limits: Limits::for_bodies_of(bytes),
            ..self
        }
    }

    /// The result of a message.
    ///
    /// # Errors
    /// The message is not well-formed, the stylesheet cannot be applied to it or makes nothing of it, or the
    /// work on it came to a limit.
    pub fn apply(&self, message: &[u8]) -> Result<Transformed, String> {
        let budget = Budget::begin(self.limits.allocated_bytes);
        let made = self.make(message);
        match budget.end() {
            None => {}
            Some(Spent::Memory) => return Err("the work on it needs too much memory".into()),
            Some(Spent::Stack) => return Err("the work on it is nested too deeply".into()),
        }
        let made = made.map_err(|why| why.to_string())?;
        if made.body.is_empty() {
            return Err("the stylesheet makes nothing of it".into());
        }
        Ok(made)
    }

    fn make(&self, message: &[u8]) -> Result<Transformed, Complaints> {
        let mut document = Document::parse(message, &self.limits)?;
        let result = self
            .stylesheet
            .apply(&mut document, &self.parameters, &self.limits)?;
        let mut body = Vec::with_capacity(message.len());
        self.stylesheet.write(&result, &mut body)?;
        let output = self.stylesheet.output();
        let html = || result.is_html().then(|| "text/html".to_owned());
        Ok(Transformed {
            body,
            media_type: output.media_type.clone().or_else(html),
            charset: output.encoding.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::imports::NoFiles;

    const ORDER: &[u8] = b"<order><item>a &amp; b</item><item>c</item></order>";

    fn sheet(output: &str, body: &str) -> String {
        format!(
            "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">{output}\
             <xsl:param name=\"shop\">nobody</xsl:param><xsl:template match=\"/\">{body}</xsl:template>\
             </xsl:stylesheet>"
        )
    }

    fn applied(output: &str, body: &str, message: &[u8]) -> Result<Transformed, String> {
        let compiled = Transform::compile(&sheet(output, body), [("shop", "me & 'you'")], &NoFiles);
        compiled.unwrap().apply(message)
    }

    #[test]
    fn a_result_has_the_type_that_its_stylesheet_says() {
        let text = "<xsl:output method=\"text\" media-type=\"text/plain\" encoding=\"utf-8\"/>";
        let made = applied(text, "<xsl:value-of select=\"$shop\"/>", ORDER).unwrap();
        let (media_type, charset) = (Some("text/plain".into()), Some("utf-8".into()));
        let body = b"me & 'you'".to_vec();
        assert_eq!(
            made,
            Transformed {
                body,
                media_type,
                charset
            }
        );
        let made = applied("", "<a><xsl:value-of select=\"//item\"/></a>", ORDER).unwrap();
        assert_eq!((&made.media_type, &made.charset), (&None, &None));
        assert_eq!(made.body, b"<?xml version=\"1.0\"?>\n<a>a &amp; b</a>\n");
        let made = applied("", "<html><br/></html>", ORDER).unwrap();
        assert_eq!(made.media_type.as_deref(), Some("text/html"));
    }

    #[test]
    fn what_cannot_be_transformed_says_why() {
        let broken = applied("", "<a/>", b"<order><item></order>").unwrap_err();
        assert!(
            broken.contains("Opening and ending tag mismatch"),
            "{broken}"
        );
        let nothing = applied("<xsl:output method=\"text\"/>", "", ORDER).unwrap_err();
        assert!(nothing.contains("makes nothing"), "{nothing}");
        let stop = "<xsl:message terminate=\"yes\">no</xsl:message>";
        assert!(applied("", stop, ORDER).is_err());
    }

    #[test]
    fn a_stylesheet_that_is_none_or_is_not_for_utf_8_is_refused() {
        let none: [(&str, &str); 0] = [];
        let broken = Transform::compile("<xsl:stylesheet", none, &NoFiles);
        assert!(broken.is_err());
        let latin = sheet("<xsl:output encoding=\"ISO-8859-1\"/>", "<a/>");
        let why = Transform::compile(&latin, none, &NoFiles).unwrap_err();
        assert!(why.contains("ISO-8859-1") && why.contains("UTF-8"), "{why}");
    }
}
