//! Stylesheets that convert text to text. A gateway applies them to a response, one after another.

use crate::document::Document;
use crate::errors::Complaints;
use crate::imports::Files;
use crate::limits::Limits;
use crate::process::{Budget, Spent, with_stack};
use crate::soap::Source;
use crate::stylesheet::{NulCharacter, Parameters, Stylesheet};

/// A compiled stylesheet with the values of its parameters, which all workers share.
#[derive(Debug)]
pub struct Transform {
    stylesheet: Stylesheet,
    parameters: Parameters,
    limits: Limits,
}

/// A transformed message, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformed {
    /// The text, in UTF-8.
    pub body: Vec<u8>,
    /// The new media type if the stylesheet changes it: its `media-type`, or `text/html`.
    pub media_type: Option<String>,
    /// The encoding, in the stylesheet's spelling; `None` if the stylesheet states none.
    pub charset: Option<String>,
}

/// The reason why a stylesheet cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Parameter(#[from] NulCharacter),
    #[error("the thread that compiles the stylesheet did not start, or panicked")]
    NoThread,
    /// The stylesheet or its imports contain mistakes.
    #[error(transparent)]
    Mistakes(#[from] Complaints),
    /// The result would be in this encoding, but a gateway needs UTF-8.
    #[error("the stylesheet's output would be in {0}; write encoding=\"UTF-8\" in xsl:output")]
    Encoding(String),
}

/// The reason why there is no transformed message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransformError {
    /// The message is not well-formed, or a stylesheet cannot be applied to it.
    #[error(transparent)]
    Refused(#[from] Complaints),
    #[error("the stylesheet produces no output")]
    Empty,
    #[error("{}", .spent.words(.limits))]
    Spent { spent: Spent, limits: Limits },
}

impl Transform {
    /// Compiles a stylesheet, given as text or by its location ([`Source::detect`]), for messages
    /// within these limits. Files, including imports and includes, come from `files`.
    ///
    /// # Errors
    /// Returns the mistakes in the stylesheet or in the parameters. Also fails if the output would
    /// not be in UTF-8, or if the compiling thread does not start or panics.
    pub fn compile<'a>(
        text_or_location: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
        files: &(dyn Files + Sync),
        limits: Limits,
    ) -> Result<Self, CompileError> {
        let parameters = Parameters::new(parameters)?;
        let source = Source::detect(text_or_location);
        let compiled = with_stack(|| {
            let limits = &Limits::DEFINITIONS;
            let _budget = Budget::begin(limits);
            source.compile(files, |text, at| Stylesheet::parse(text, at, files, limits))
        });
        let stylesheet = compiled.ok_or(CompileError::NoThread)??;
        let encoding = stylesheet.output.encoding.as_deref();
        if let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("utf-8")) {
            return Err(CompileError::Encoding(encoding.to_owned()));
        }
        Ok(Self {
            stylesheet,
            parameters,
            limits,
        })
    }

    /// # Errors
    /// See [`apply_all`](Self::apply_all).
    pub fn apply(&self, message: &[u8]) -> Result<Transformed, TransformError> {
        Self::apply_all(std::slice::from_ref(self), message)
    }

    /// Transforms a message with several stylesheets, one after another. The memory and CPU time
    /// limits of the first apply to all of them together.
    ///
    /// # Errors
    /// Fails if the message is not well-formed, if a stylesheet cannot be applied or has an empty
    /// result, or if the work reaches a limit.
    pub fn apply_all(all: &[Self], message: &[u8]) -> Result<Transformed, TransformError> {
        let limits = all.first().map_or(Limits::MESSAGES, |first| first.limits);
        let budget = Budget::begin(&limits);
        let message = Transformed {
            body: message.to_vec(),
            media_type: None,
            charset: None,
        };
        let mut stylesheets = all.iter();
        let made = stylesheets.try_fold(message, |before, it| it.continue_from(before));
        match budget.end() {
            None => made,
            Some(spent) => Err(TransformError::Spent { spent, limits }),
        }
    }

    /// Transforms the output of another stylesheet. The output keeps its media type and encoding,
    /// unless this stylesheet also sets them.
    fn continue_from(&self, before: Transformed) -> Result<Transformed, TransformError> {
        let (stylesheet, limits) = (&self.stylesheet, &self.limits);
        let mut document = Document::parse(&before.body, limits)?;
        let result = stylesheet.apply(&mut document, &self.parameters, limits)?;
        let mut body = Vec::with_capacity(before.body.len());
        stylesheet.write(&result, &mut body, limits)?;
        if body.is_empty() {
            return Err(TransformError::Empty);
        }
        let output = &stylesheet.output;
        let html = || result.is_html().then(|| "text/html".to_owned());
        let media_type = output.media_type.clone().or_else(html);
        Ok(Transformed {
            body,
            media_type: media_type.or(before.media_type),
            charset: output.encoding.clone().or(before.charset),
        })
    }
}
