//! Settings of `soap`: what happens to SOAP and XML messages, in each direction.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `soap`. A message that cannot be processed is answered with a SOAP fault, or for JSON
/// clients with an error in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoapPolicy {
    /// What is done to requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<SoapChain>,
    /// What is done to the upstream's answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<SoapChain>,
}

impl SoapPolicy {
    /// Both directions by the names that they have in files.
    pub fn chains(&self) -> impl Iterator<Item = (&'static str, &SoapChain)> {
        let request = self.request.as_ref().map(|chain| ("request", chain));
        let response = self.response.as_ref().map(|chain| ("response", chain));
        request.into_iter().chain(response)
    }

    /// Whether a chain runs stylesheets by saxon.
    pub fn uses_saxon(&self) -> bool {
        self.chains()
            .any(|(_, chain)| chain.xslt_library == XsltLibrary::Saxon)
    }
}

/// The steps of one direction, which act in this order: stylesheet before, schema of the envelope, schema
/// of what the body holds, SOAPAction, stylesheet after, route by XPath. All but the second are optional.
///
/// A definition is its text, or the path of a file as it is seen from the file that names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SoapChain {
    /// The stylesheet that is applied first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xslt_transform_before: Option<String>,
    /// The stylesheet that is applied after validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xslt_transform_after: Option<String>,
    /// What applies them.
    pub xslt_library: XsltLibrary,
    /// Values of the stylesheets' parameters, as plain strings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub xslt_params: BTreeMap<String, String>,
    /// Whether ` xmlns=""` is taken out of the result of a transformation.
    pub xslt_remove_empty_name_space: bool,
    /// The schema of SOAP 1.1 envelopes, and of documents that are no envelope; without, the standard
    /// one of SOAP 1.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xsd_soap_schema: Option<String>,
    /// The schema of SOAP 1.2 envelopes; without, they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xsd_soap12_schema: Option<String>,
    /// A WSDL 1.1 or 2.0, or a schema: what the body may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xsd_api_schema: Option<String>,
    /// What definitions import and include, by the location that they name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub includes: BTreeMap<String, String>,
    /// How long compiled definitions are kept.
    pub cache_ttl: HumanDuration,
    /// Whether faults tell details.
    pub verbose: bool,
    /// Whether the SOAPAction of requests is held against the WSDL.
    pub soap_action: SoapAction,
    /// Where requests go by what they hold; the first that matches wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route_xpath_targets: Vec<XPathTarget>,
    /// Namespaces by the prefixes that these expressions use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub route_xpath_register_ns: BTreeMap<String, String>,
    /// Whether an answer with another status than 200 becomes a fault without further work.
    pub ignore_process_if_service_http_error: bool,
}

impl SoapChain {
    /// The settings that are definitions.
    pub(crate) const DEFINITIONS: [&'static str; 5] = [
        "xslt_transform_before",
        "xslt_transform_after",
        "xsd_soap_schema",
        "xsd_soap12_schema",
        "xsd_api_schema",
    ];
}

impl Default for SoapChain {
    fn default() -> Self {
        Self {
            xslt_transform_before: None,
            xslt_transform_after: None,
            xslt_library: XsltLibrary::default(),
            xslt_params: BTreeMap::new(),
            xslt_remove_empty_name_space: true,
            xsd_soap_schema: None,
            xsd_soap12_schema: None,
            xsd_api_schema: None,
            includes: BTreeMap::new(),
            cache_ttl: HumanDuration::from_millis(3_600_000),
            verbose: false,
            soap_action: SoapAction::default(),
            route_xpath_targets: Vec::new(),
            route_xpath_register_ns: BTreeMap::new(),
            ignore_process_if_service_http_error: false,
        }
    }
}

/// What applies stylesheets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum XsltLibrary {
    /// XSLT 1.0.
    #[default]
    Libxslt,
    /// XSLT 1.0 to 3.0.
    Saxon,
}

impl XsltLibrary {
    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Libxslt => "libxslt",
            Self::Saxon => "saxon",
        }
    }
}

/// How the SOAPAction of a request is held against the WSDL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoapAction {
    /// It is not looked at.
    #[default]
    No,
    /// It must be there where the WSDL requires it, and be the WSDL's.
    Yes,
    /// It may be absent; where it is there it must be the WSDL's.
    YesNullAllowed,
}

/// Where a request goes if an expression finds a text in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XPathTarget {
    /// The expression.
    pub xpath: String,
    /// What the text of the first node that it selects must be.
    pub condition: String,
    /// The path, with its query, that the upstream sees instead.
    #[schemars(schema_with = "schema_fragments::plain_path")]
    pub path: String,
    /// One of the scenario's `more_upstreams`; without, the route's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
}
