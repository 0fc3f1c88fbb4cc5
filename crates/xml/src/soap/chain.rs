//! The steps of a chain, as applied to the content of one message.

use super::action::{self, Headers};
use super::client::Client;
use super::content::Content;
use super::definitions::{Definitions, Slot, Transformer};
use super::envelope::{self, Version};
use super::fault::Culprit;
use super::options::{Options, SoapAction};
use crate::document::Document;
use crate::errors::Complaints;
use crate::saxon::Order;
use crate::stylesheet::Parameters;
use crate::xpath::Unevaluated;

pub(crate) const XSLT_BEFORE: &str = "XSLT transformation failed (before XSD validation)";
pub(crate) const XSLT_AFTER: &str = "XSLT transformation failed (after XSD validation)";
pub(crate) const VALIDATION: &str = "XSD validation failed";
pub(crate) const ROUTING: &str = "XPath routing failed";
pub(crate) const GENERAL: &str = "General process failed";

#[derive(Debug)]
pub(crate) struct Failure {
    pub step: &'static str,
    /// The culprit in a request. All failures of a response are attributed to the server.
    pub culprit: Culprit,
    pub details: String,
}

impl Failure {
    pub fn new(step: &'static str, culprit: Culprit, details: impl Into<String>) -> Self {
        Self {
            step,
            culprit,
            details: details.into(),
        }
    }
}

/// A chain while it processes a message.
pub(crate) struct Chain<'a, 'c> {
    pub options: &'a Options,
    pub definitions: &'a Definitions,
    pub parameters: &'a Parameters,
    pub content: Content<'a>,
    /// The client, which determines the format of faults. Unless the Content-Type is JSON, the
    /// version of a request's envelope takes precedence over the Content-Type.
    pub client: &'c mut Client,
}

/// Returns the compiled definition. If it could not be compiled, the failure refers to it as
/// `name`.
fn usable<'d, T>(
    definition: &'d Result<T, Complaints>,
    step: &'static str,
    name: &str,
) -> Result<&'d T, Failure> {
    definition.as_ref().map_err(|why| {
        let details = format!("Invalid {name}. {why}");
        Failure::new(step, Culprit::Server, details)
    })
}

impl<'a> Chain<'a, '_> {
    /// Transforms the content, or returns the order for a transformation in another process.
    pub fn transform(
        &mut self,
        stylesheet: &'a Slot<Transformer>,
        step: &'static str,
    ) -> Result<Option<Order>, Failure> {
        let Some(stylesheet) = stylesheet else {
            return Ok(None);
        };
        let transformed = match usable(stylesheet, step, "XSLT definition")? {
            Transformer::Libxslt(stylesheet) => {
                self.parsed(step)?;
                let transformed = self.content.transform(stylesheet, self.parameters);
                transformed.map(|()| None)
            }
            Transformer::Saxon(stylesheet) => self.content.order(stylesheet).map(Some),
        };
        transformed.map_err(|why| Failure::new(step, Culprit::Client, why.to_string()))
    }

    fn parsed(&mut self, step: &'static str) -> Result<&mut Document, Failure> {
        self.content.tree().map_err(|why| {
            let details = format!("Invalid XML input. {why}");
            Failure::new(step, Culprit::Client, details)
        })
    }

    /// Validates the envelope. In a request from a SOAP client, the envelope's version determines
    /// the client's format.
    pub fn validate_envelope(&mut self, is_request: bool) -> Result<(), Failure> {
        let definitions = self.definitions;
        if definitions.soap11.is_none() && definitions.soap12.is_none() {
            return Ok(());
        }
        let version = Version::of(self.parsed(VALIDATION)?);
        if is_request && *self.client != Client::Json {
            *self.client = match version {
                Some(Version::Soap11) => Client::Soap11,
                Some(Version::Soap12) => Client::Soap12,
                None => *self.client,
            };
        }
        let (schema, name) = match version {
            Some(Version::Soap12) => (&definitions.soap12, "1.2"),
            _ => (&definitions.soap11, "1.1"),
        };
        let Some(schema) = schema else {
            let details = format!("Invalid XSD schema. Unable to find schema for SOAP {name}");
            return Err(Failure::new(VALIDATION, Culprit::Server, details));
        };
        let schema = usable(schema, VALIDATION, "XSD schema")?;
        self.with_lines(|tree| {
            let valid = schema.validate(tree);
            valid.map_err(|why| (Culprit::Client, why.to_string()))
        })
    }

    /// Validates the first element of the body.
    pub fn validate_body(&mut self) -> Result<(), Failure> {
        let Some(api) = &self.definitions.api else {
            return Ok(());
        };
        let api = usable(api, VALIDATION, "WSDL/XSD schema")?;
        self.parsed(VALIDATION)?;
        self.with_lines(|tree| {
            let invalid = |what| (Culprit::Client, format!("Invalid XML input. {what}"));
            let body =
                envelope::body(tree).ok_or_else(|| invalid("Unable to find the 'soap:Body'"))?;
            let operation = envelope::operation(body)
                .ok_or_else(|| invalid("Unable to find the Operation tag in the 'soap:Body'"))?;
            api.validate(tree, operation)
        })
    }

    /// Runs a check of the tree. If the check fails on a tree that was not parsed from text,
    /// repeats it on the parsed text, because the error message needs line numbers.
    fn with_lines(
        &mut self,
        check: impl Fn(&Document) -> Result<(), (Culprit, String)>,
    ) -> Result<(), Failure> {
        let Err(mut reason) = check(self.parsed(VALIDATION)?) else {
            return Ok(());
        };
        if !self.content.has_lines()
            && let Ok(tree) = self.content.tree_with_lines()
            && let Err(with_lines) = check(&tree)
        {
            reason = with_lines;
        }
        Err(Failure::new(VALIDATION, reason.0, reason.1))
    }

    pub fn check_action(&mut self, headers: impl FnOnce() -> Headers) -> Result<(), Failure> {
        let mode = self.options.soap_action;
        if mode == SoapAction::No {
            return Ok(());
        }
        let api = match &self.definitions.api {
            Some(Ok(api)) => Some(api),
            _ => None,
        };
        let tree = self.parsed(VALIDATION)?;
        action::check(mode, &headers(), tree, api).map_err(|(culprit, why)| {
            let details = format!("Validation of 'SOAPAction' header: {why}");
            Failure::new(VALIDATION, culprit, details)
        })
    }

    /// Returns the index of the first matching target.
    pub fn route(&mut self) -> Result<Option<usize>, Failure> {
        let options = self.options;
        if options.targets.is_empty() {
            return Ok(None);
        }
        let definitions = self.definitions;
        let tree = self.parsed(ROUTING)?;
        let failed = |culprit, why: &Complaints| Failure::new(ROUTING, culprit, why.to_string());
        let targets = options.targets.iter().zip(&definitions.routes);
        for (index, (target, xpath)) in targets.enumerate() {
            let xpath = xpath.as_ref().map_err(|why| failed(Culprit::Server, why))?;
            let text = xpath.first_text(tree, &options.limits);
            let text = text.map_err(|why| match why {
                Unevaluated::BeyondLimit(why) => failed(Culprit::Client, &why),
                Unevaluated::Expression(why) => failed(Culprit::Server, &why),
            })?;
            if text.as_deref() == Some(&*target.equals) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}
