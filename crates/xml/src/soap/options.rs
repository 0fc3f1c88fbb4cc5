//! The user's options for a chain, which processes one direction of one route.

use std::sync::Arc;
use std::time::Duration;

use super::envelope::SOAP_1_1_SCHEMA;
use crate::errors::Complaints;
use crate::imports::Files;
use crate::limits::Limits;
use crate::saxon::Saxon;

/// A definition, given as text or by its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Text(String),
    /// A location, to read from [`Files`].
    At(String),
}

impl Source {
    /// Takes a string that begins like XML as text, and any other as a location.
    pub fn detect(text_or_location: &str) -> Self {
        let text = text_or_location.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with('<') {
            Self::Text(text_or_location.to_owned())
        } else {
            Self::At(text_or_location.trim().to_owned())
        }
    }

    /// Compiles the text with its location, which is `None` if there is no location.
    pub(crate) fn compile<T>(
        &self,
        files: &dyn Files,
        compile: impl FnOnce(&[u8], Option<&str>) -> Result<T, Complaints>,
    ) -> Result<T, Complaints> {
        match self {
            Self::Text(text) => compile(text.as_bytes(), None),
            Self::At(location) => files
                .read(location)
                .map_err(|why| Complaints::own(0, why.to_string()))
                .and_then(|text| compile(&text, Some(location))),
        }
    }
}

/// The comparison of a request's SOAPAction with the WSDL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoapAction {
    /// The SOAPAction is not checked.
    #[default]
    No,
    /// The SOAPAction must be present if the WSDL requires it and, if present, must equal the one
    /// in the WSDL.
    Yes,
    /// Like `Yes`, but the SOAPAction may be absent even if the WSDL requires it.
    YesNullAllowed,
}

/// A route that applies if the first node that `xpath` selects has the text `equals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub xpath: String,
    pub equals: String,
}

/// The options of one chain.
#[derive(Clone, Debug)]
pub struct Options {
    /// The stylesheet that is applied first.
    pub xslt_before: Option<Source>,
    /// The stylesheet that is applied after validation.
    pub xslt_after: Option<Source>,
    /// The helpers that apply both stylesheets. With `None`, libxslt applies them, in XSLT 1.0.
    pub saxon: Option<Arc<Saxon>>,
    /// The names and values of the stylesheets' parameters. Values are plain strings.
    pub xslt_params: Vec<(String, String)>,
    /// True to remove every ` xmlns=""` from the result of a transformation.
    pub xslt_remove_empty_namespace: bool,
    /// The schema of SOAP 1.1 envelopes, and of documents that are not envelopes.
    pub soap_schema: Option<Source>,
    /// The schema of SOAP 1.2 envelopes.
    pub soap12_schema: Option<Source>,
    /// A WSDL, or a schema for the content of the body.
    pub api_schema: Option<Source>,
    /// The imports of definitions, by location.
    pub includes: Vec<(String, Source)>,
    /// The time after which definitions are compiled again, including those that failed to compile.
    pub ttl: Duration,
    /// True if faults contain details.
    pub is_verbose: bool,
    pub soap_action: SoapAction,
    /// The routes of requests. The first one that matches applies.
    pub targets: Vec<Target>,
    /// The prefixes in the routes' expressions, with their namespaces.
    pub namespaces: Vec<(String, String)>,
    /// True if a response with a status other than 200 becomes a fault without any XML processing.
    pub ignore_if_upstream_error: bool,
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            xslt_before: None,
            xslt_after: None,
            saxon: None,
            xslt_params: Vec::new(),
            xslt_remove_empty_namespace: true,
            soap_schema: Some(Source::Text(SOAP_1_1_SCHEMA.to_owned())),
            soap12_schema: None,
            api_schema: None,
            includes: Vec::new(),
            ttl: Duration::from_secs(3_600),
            is_verbose: false,
            soap_action: SoapAction::No,
            targets: Vec::new(),
            namespaces: Vec::new(),
            ignore_if_upstream_error: false,
            limits: Limits::default(),
        }
    }
}
