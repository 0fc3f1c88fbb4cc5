//! Envelopes of SOAP 1.1 and 1.2.

use crate::document::{Document, Node};

pub(crate) const SOAP_1_1: &str = "http://schemas.xmlsoap.org/soap/envelope/";

pub(crate) const SOAP_1_2: &str = "http://www.w3.org/2003/05/soap-envelope";

pub const SOAP_1_1_SCHEMA: &str = include_str!("soap-1.1.xsd");

pub const SOAP_1_2_SCHEMA: &str = include_str!("soap-1.2.xsd");

/// The schema of the attributes with the `xml` prefix. The first string is the location from which
/// schemas import it.
pub(crate) const XML_SCHEMA: (&str, &str) =
    ("http://www.w3.org/2001/xml.xsd", include_str!("xml.xsd"));

/// A version of SOAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Soap11,
    Soap12,
}

impl Version {
    /// Derives the version from the namespace of the root element. Returns `None` if it is not the
    /// namespace of an envelope.
    pub fn of(document: &Document) -> Option<Self> {
        match document.root()?.namespace()? {
            SOAP_1_1 => Some(Self::Soap11),
            SOAP_1_2 => Some(Self::Soap12),
            _ => None,
        }
    }
}

pub(crate) fn body(document: &Document) -> Option<Node<'_>> {
    let mut children = document.root()?.elements();
    children.find(|node| node.name() == "Body")
}

/// Returns the first element in the body, which names the operation.
pub(crate) fn operation(body: Node<'_>) -> Option<Node<'_>> {
    body.elements().next()
}
