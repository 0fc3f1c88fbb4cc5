//! Compares the SOAPAction of a request with the WSDL.

use super::envelope::{self, SOAP_1_1, SOAP_1_2, Version};
use super::fault::Culprit;
use super::options::SoapAction;
use super::wsdl::Api;
use crate::document::Document;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    /// The value of the `SOAPAction` header, without quotes.
    soap11: Option<String>,
    /// The value of the `action` parameter of Content-Type, without quotes.
    soap12: Option<String>,
    /// True if the `action` parameter occurs more than once or if its quote is not closed.
    is_malformed: bool,
}

impl Headers {
    pub fn new(soap_action: Option<&str>, content_type: Option<&str>) -> Self {
        let mut actions = parameters(content_type.unwrap_or_default())
            .filter(|(name, _)| name.eq_ignore_ascii_case("action"))
            .map(|(_, value)| unquoted(value));
        let first = actions.next();
        let is_malformed = actions.next().is_some() || first == Some(None);
        Self {
            soap11: soap_action.map(|value| unquoted(value).unwrap_or(value).to_owned()),
            soap12: first.flatten().map(str::to_owned),
            is_malformed,
        }
    }
}

/// Returns the parameters of a Content-Type. Semicolons within quotes are not separators.
fn parameters(content_type: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut is_quoted = false;
    content_type
        .split(move |c| {
            is_quoted ^= c == '"';
            c == ';' && !is_quoted
        })
        .skip(1)
        .filter_map(|part| part.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
}

/// Returns the value without its quotes, or `None` if a quote is not closed.
fn unquoted(value: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest.strip_suffix(quote);
        }
    }
    Some(value)
}

/// Checks the headers of a request. The mode must not be [`SoapAction::No`].
///
/// # Errors
/// Returns the mistake, and the culprit: the request or the definition.
pub(crate) fn check(
    mode: SoapAction,
    headers: &Headers,
    document: &Document,
    api: Option<&Api>,
) -> Result<(), (Culprit, String)> {
    let of_client = |why: &str| (Culprit::Client, why.to_owned());
    if headers.is_malformed {
        return Err(of_client(
            "'action' has been found in Content-Type header but it's not correctly defined",
        ));
    }
    if headers.soap11.is_some() && headers.soap12.is_some() {
        return Err(of_client(
            "'SOAPAction' for SOAP 1.1 and 'action' for SOAP 1.2 have been defined simultaneously",
        ));
    }
    let given = headers.soap11.as_deref().or(headers.soap12.as_deref());
    if mode == SoapAction::YesNullAllowed && given.is_none() {
        return Ok(());
    }
    let Some(api) = api else {
        let why = "No WSDL definition found: it's mandatory to validate the 'SOAPAction' header";
        return Err((Culprit::Server, why.into()));
    };
    let version = version(document).map_err(|why| (Culprit::Client, why))?;
    match version {
        Version::Soap11 if headers.soap12.is_some() => Err(of_client(
            "Found a SOAP 1.1 envelope and an 'action' field in the 'Content-Type' header linked with for SOAP 1.2",
        )),
        Version::Soap12 if headers.soap11.is_some() => Err(of_client(
            "Found a SOAP 1.2 envelope and a 'SOAPAction' header linked with for SOAP 1.1",
        )),
        _ => compare(version, given, document, api),
    }
}

fn version(document: &Document) -> Result<Version, String> {
    if document.root().is_none_or(|root| root.name() != "Envelope") {
        return Err("Unable to find 'Envelope' tag".into());
    }
    Version::of(document).ok_or_else(|| {
        format!(
            "Unable to find the namespace of 'Envelope' tag. The expected values are '{SOAP_1_1}' or '{SOAP_1_2}'"
        )
    })
}

fn compare(
    version: Version,
    given: Option<&str>,
    document: &Document,
    api: &Api,
) -> Result<(), (Culprit, String)> {
    let of_client = |why: String| (Culprit::Client, why);
    let body =
        envelope::body(document).ok_or_else(|| of_client("Unable to find 'Body' tag".into()))?;
    let operation = envelope::operation(body)
        .ok_or_else(|| of_client("Unable to find the Operation Name inside 'Body' tag".into()))?
        .name();
    let Some(actions) = &api.actions else {
        let why = "Unable to find the 'wsdl:definitions' for WSDL 1.1 in the WSDL definition";
        return Err((Culprit::Server, why.into()));
    };
    let binding = actions.of(version);
    let Some(action) = binding.by_operation.get(operation) else {
        let prefix = &binding.prefix;
        return Err(of_client(format!(
            "Unable to get the value of '{prefix}:operation soapAction' attribute in the WSDL linked with '{operation}' Operation name"
        )));
    };
    match given {
        None if action.is_required => Err(of_client(
            "The 'SOAPAction' header is not set but according to the WSDL this value is 'Required'"
                .into(),
        )),
        Some(given) if given != action.value => {
            let body = body
                .prefix()
                .map_or_else(|| "Body".to_owned(), |prefix| format!("{prefix}:Body"));
            Err(of_client(format!(
                "The Operation Name found in '{body}' is '{operation}'. According to the WSDL the 'SOAPAction' should be '{}' and not '{given}'",
                action.value
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_from_both_headers() {
        for (content_type, soap12, is_malformed) in [
            ("text/xml", None, false),
            (
                "application/soap+xml; charset=utf-8; action=\"http://t/A;b\"",
                Some("http://t/A;b"),
                false,
            ),
            ("application/soap+xml;Action='x'", Some("x"), false),
            ("application/soap+xml;action=x", Some("x"), false),
            ("application/soap+xml;action=", Some(""), false),
            ("application/soap+xml;action=\"x", None, true),
            ("application/soap+xml;action=x;action=x", Some("x"), true),
            ("application/soap+xml;reaction=x", None, false),
        ] {
            let expected = Headers {
                soap11: None,
                soap12: soap12.map(str::to_owned),
                is_malformed,
            };
            let found = Headers::new(None, Some(content_type));
            assert_eq!(found, expected, "{content_type}");
        }
        for (written, value) in [("\"x\"", "x"), ("", "")] {
            let expected = Headers {
                soap11: Some(value.to_owned()),
                soap12: None,
                is_malformed: false,
            };
            assert_eq!(Headers::new(Some(written), None), expected);
        }
    }
}
