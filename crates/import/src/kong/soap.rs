//! Converts the plug-ins for SOAP and XML to steps of the `soap` policy.

use std::collections::BTreeMap;

use gatebench_config::HumanDuration;
use gatebench_model::soap::{SoapAction, SoapChain, XPathTarget, XsltLibrary};

use crate::keys::Keys;
use crate::log::Log;
use crate::name::path_of_url;

/// The namespace of the schema that the policy uses by default.
const SOAP_1_1: &str = "http://schemas.xmlsoap.org/soap/envelope/";

/// The namespaces that the plug-in defines by default.
const NAMESPACES: [(&str, &str); 2] = [
    ("soap", SOAP_1_1),
    ("soap12", "http://www.w3.org/2003/05/soap-envelope"),
];

/// The name of the upstream that expressions route requests to.
const OTHER_UPSTREAM: &str = "soap2";

pub(super) fn chain(keys: &mut Keys<'_>, log: &mut Log<'_>) -> SoapChain {
    let mut chain = SoapChain {
        xslt_transform_before: keys.text("xsltTransformBefore", log),
        xslt_transform_after: keys.text("xsltTransformAfter", log),
        xsd_soap_schema: keys.text("xsdSoapSchema", log),
        xsd_soap12_schema: keys.text("xsdSoap12Schema", log),
        xsd_api_schema: keys.text("xsdApiSchema", log),
        ..SoapChain::default()
    };
    let standard = format!("targetNamespace=\"{SOAP_1_1}\"");
    chain.xsd_soap_schema = chain.xsd_soap_schema.filter(|it| !it.contains(&standard));
    if keys.text("xsltLibrary", log).as_deref() == Some("saxon") {
        chain.xslt_library = XsltLibrary::Saxon;
    }
    if let Some(seconds) = keys.count("ExternalEntityLoader_CacheTTL", log) {
        chain.cache_ttl = HumanDuration::from_millis(seconds * 1_000);
    }
    for key in ["VerboseRequest", "VerboseResponse"] {
        chain.verbose |= keys.flag(key, log).unwrap_or(false);
    }
    chain.soap_action = match keys.text("SOAPAction_Header", log).as_deref() {
        Some("yes") => SoapAction::Yes,
        Some("yes_null_allowed") => SoapAction::YesNullAllowed,
        _ => SoapAction::No,
    };
    let removes = keys.flag("xsltRemoveEmptyNameSpace", log);
    chain.xslt_remove_empty_name_space = removes.unwrap_or(true);
    let ignores = keys.flag("ignoreProcessIfServiceHttpError", log);
    chain.ignore_process_if_service_http_error = ignores.unwrap_or(false);
    chain.xslt_params = keys.named_texts("xsltParams", log);
    for key in [
        "xsdApiSchemaInclude",
        "xsdSoapSchemaInclude",
        "xsdSoap12SchemaInclude",
    ] {
        chain.includes.extend(keys.named_texts(key, log));
    }
    chain.route_xpath_targets = targets(keys, log);
    chain.route_xpath_register_ns = namespaces(keys, &chain.route_xpath_targets, log);
    // These settings affect only how external entities are loaded.
    keys.ignore(&["ExternalEntityLoader_Async", "ExternalEntityLoader_Timeout"]);
    chain
}

fn targets(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Vec<XPathTarget> {
    let mut targets = Vec::new();
    for node in keys.list("RouteXPathTargets", log) {
        let mut target = Keys::of(node, "the target", log);
        let url = target.required("URL", log);
        let xpath = target.required("XPath", log);
        let condition = target.required("XPathCondition", log);
        if let (Some(url), Some(xpath), Some(condition)) = (url, xpath, condition) {
            let path = Some(path_of_url(&url)).filter(|path| !path.is_empty());
            targets.push(XPathTarget {
                xpath,
                condition,
                path: path.unwrap_or("/").to_owned(),
                upstream: Some(OTHER_UPSTREAM.into()),
            });
        }
    }
    targets
}

/// Returns the namespaces of the prefixes that the expressions use.
fn namespaces(
    keys: &mut Keys<'_>,
    targets: &[XPathTarget],
    log: &mut Log<'_>,
) -> BTreeMap<String, String> {
    let own = keys.texts("RouteXPathRegisterNs", log);
    let own = own.iter().filter_map(|text| text.split_once(','));
    let known = NAMESPACES.into_iter().chain(own);
    let is_used = |prefix: &str| {
        let prefix = format!("{prefix}:");
        targets.iter().any(|it| it.xpath.contains(&prefix))
    };
    let used = known.filter(|(prefix, _)| is_used(prefix));
    used.map(|(prefix, uri)| (prefix.to_owned(), uri.to_owned()))
        .collect()
}
