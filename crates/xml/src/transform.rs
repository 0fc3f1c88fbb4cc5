//! A stylesheet by itself: from text to text, as a gateway lays it over answers.

use crate::document::Document;
use crate::errors::Complaints;
use crate::imports::Files;
use crate::limits::Limits;
use crate::process::{Budget, with_stack};
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
        let parameters = Parameters::new(parameters)?;
        let compiled = with_stack(|| {
            let _budget = Budget::begin(&Limits::DEFINITIONS);
            Stylesheet::parse(text.as_bytes(), None, files, &Limits::DEFINITIONS)
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
            limits: Limits::MESSAGES,
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
    /// As [`apply_all`](Self::apply_all).
    pub fn apply(&self, message: &[u8]) -> Result<Transformed, String> {
        Self::apply_all(std::slice::from_ref(self), message)
    }

    /// The result of a message that goes through stylesheets one after the other, all within the limits of the first.
    ///
    /// # Errors
    /// The message is not well-formed, a stylesheet cannot be applied to it or makes nothing of it, or the
    /// work on it came to a limit.
    pub fn apply_all(all: &[Self], message: &[u8]) -> Result<Transformed, String> {
        let limits = all.first().map_or(Limits::MESSAGES, |first| first.limits);
        let budget = Budget::begin(&limits);
        let mut made = Ok(Transformed {
            body: message.to_vec(),
            media_type: None,
            charset: None,
        });
        for stylesheet in all {
            made = made.and_then(|before| stylesheet.go_on(before));
        }
        match budget.end() {
            None => made,
            Some(spent) => Err(spent.words(&limits)),
        }
    }

    /// The result of what another stylesheet has made; what that said of it holds unless this says it too.
    fn go_on(&self, before: Transformed) -> Result<Transformed, String> {
        let made = self.make(&before.body).map_err(|why| why.to_string())?;
        if made.body.is_empty() {
            return Err("the stylesheet makes nothing of it".into());
        }
        Ok(Transformed {
            media_type: made.media_type.or(before.media_type),
            charset: made.charset.or(before.charset),
            ..made
        })
    }

    fn make(&self, message: &[u8]) -> Result<Transformed, Complaints> {
        let mut document = Document::parse(message, &self.limits)?;
        let result = self
            .stylesheet
            .apply(&mut document, &self.parameters, &self.limits)?;
        let mut body = Vec::with_capacity(message.len());
        self.stylesheet.write(&result, &mut body, &self.limits)?;
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
    fn what_a_stylesheet_says_of_its_result_holds_for_the_next_ones() {
        let none: [(&str, &str); 0] = [];
        let compile = |output: &str, body: &str| {
            Transform::compile(&sheet(output, body), none, &NoFiles).unwrap()
        };
        let first = "<xsl:output media-type=\"text/a\" encoding=\"utf-8\"/>";
        let all = [
            compile(first, "<a><xsl:value-of select=\"//item[2]\"/></a>"),
            compile(
                "<xsl:output method=\"text\"/>",
                "<xsl:value-of select=\"a\"/>!",
            ),
        ];
        let made = Transform::apply_all(&all, ORDER).unwrap();
        assert_eq!(made.body, b"c!");
        assert_eq!(
            (made.media_type.as_deref(), made.charset.as_deref()),
            (Some("text/a"), Some("utf-8"))
        );
        // The second one gets what the first one has made, and nothing else.
        let all = [
            compile("", "<b><xsl:value-of select=\"//item[2]\"/></b>"),
            compile(
                "<xsl:output method=\"text\"/>",
                "<xsl:value-of select=\"a\"/>",
            ),
        ];
        assert!(Transform::apply_all(&all, ORDER).is_err());
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
