//! Settings of `soap`: the processing of SOAP and XML messages, in each direction.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of `soap`. A message that cannot be processed results in a SOAP fault, or in a JSON
/// error for JSON clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoapPolicy {
    /// The processing of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<SoapChain>,
    /// The processing of the upstream's responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<SoapChain>,
}

impl SoapPolicy {
    /// The chains that are set, with the names of their directions in files.
    pub fn chains(&self) -> impl Iterator<Item = (&'static str, &SoapChain)> {
        let request = self.request.as_ref().map(|chain| ("request", chain));
        let response = self.response.as_ref().map(|chain| ("response", chain));
        request.into_iter().chain(response)
    }

    pub fn uses_saxon(&self) -> bool {
        self.chains()
            .any(|(_, chain)| chain.xslt_library == XsltLibrary::Saxon)
    }
}

/// The steps of one direction, which apply in this order: first stylesheet, schema of the envelope,
/// schema of the body's content, SOAPAction, second stylesheet, route by XPath. Each step is
/// optional, except the schema of the envelope.
///
/// A definition is the text of a document, or the path of its file relative to the scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SoapChain {
    /// The stylesheet that is applied first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xslt_transform_before: Option<String>,
    /// The stylesheet that is applied after validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xslt_transform_after: Option<String>,
    /// The processor that applies the stylesheets.
    pub xslt_library: XsltLibrary,
    /// Values of the stylesheets' parameters, as plain strings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub xslt_params: BTreeMap<String, String>,
    /// True if ` xmlns=""` is removed from the result of a transformation.
    pub xslt_remove_empty_name_space: bool,
    /// The schema of SOAP 1.1 envelopes, and of documents that are not envelopes [default: the
    /// standard schema of SOAP 1.1].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xsd_soap_schema: Option<String>,
    /// The schema of SOAP 1.2 envelopes [default: they are refused].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xsd_soap12_schema: Option<String>,
    /// A WSDL document (1.1 or 2.0) or a schema that describes the content of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xsd_api_schema: Option<String>,
    /// The documents that definitions import and include, keyed by the locations that the
    /// definitions use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub includes: BTreeMap<String, String>,
    /// The time after which definitions are recompiled.
    pub cache_ttl: HumanDuration,
    /// True if faults contain details.
    pub verbose: bool,
    /// The way in which the SOAPAction of requests is compared with the WSDL.
    pub soap_action: SoapAction,
    /// The upstreams and paths of requests, depending on their content. The first match wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route_xpath_targets: Vec<XPathTarget>,
    /// Namespaces by the prefixes that the expressions in `route_xpath_targets` use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub route_xpath_register_ns: BTreeMap<String, String>,
    /// True if a response with a status other than 200 becomes a fault without being processed.
    pub ignore_process_if_service_http_error: bool,
}

impl SoapChain {
    /// The keys of the settings that each contain one definition.
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

/// The stylesheet processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum XsltLibrary {
    /// XSLT 1.0.
    #[default]
    Libxslt,
    /// XSLT 1.0 to 3.0.
    Saxon,
}

/// The ways of comparing a request's SOAPAction with the WSDL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoapAction {
    /// The SOAPAction is not compared.
    #[default]
    No,
    /// The SOAPAction must be present if the WSDL requires one. If it is present, it must equal the
    /// WSDL's.
    Yes,
    /// The SOAPAction may be absent. If it is present, it must equal the WSDL's.
    YesNullAllowed,
}

/// A target for requests in which an XPath expression selects a given text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XPathTarget {
    /// The XPath expression that selects nodes of the request.
    pub xpath: String,
    /// The required text of the first selected node.
    pub condition: String,
    /// The path, with its query, that replaces the request's path.
    #[schemars(schema_with = "schema_fragments::plain_path")]
    pub path: String,
    /// One of the scenario's `more_upstreams` [default: the route's upstream].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
}
