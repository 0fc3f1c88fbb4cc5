//! Tests WSDL 2.0, whose types validate bodies. Its bindings are ignored, so a check of the
//! SOAPAction, which needs them, fails.

use std::sync::Arc;

use gatebench_xml::NoFiles;
use gatebench_xml::soap::{Options, Request, SoapAction, SoapPolicy, Source};

const WSDL: &str = r#"<description xmlns="http://www.w3.org/ns/wsdl" targetNamespace="http://tempuri.org/" xmlns:t="http://tempuri.org/">
<types><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://tempuri.org/" elementFormDefault="qualified">
<xs:element name="Add"><xs:complexType><xs:sequence>
<xs:element name="intA" type="xs:int"/><xs:element name="intB" type="xs:int"/>
</xs:sequence></xs:complexType></xs:element></xs:schema></types>
<interface name="I"><operation name="Add" pattern="http://www.w3.org/ns/wsdl/in-only"><input element="t:Add"/></operation></interface>
</description>"#;

fn asked(soap_action: SoapAction, b: &str) -> Result<(), String> {
    let policy = SoapPolicy::compile(
        Options {
            api_schema: Some(Source::Text(WSDL.into())),
            soap_action,
            is_verbose: true,
            ..Options::default()
        },
        Arc::new(NoFiles),
    )
    .unwrap();
    assert_eq!(policy.problems(), []);
    let body = format!(
        r#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><Add xmlns="http://tempuri.org/"><intA>5</intA><intB>{b}</intB></Add></s:Body></s:Envelope>"#
    );
    let passed = policy.request(&Request {
        content_type: Some("text/xml"),
        soap_action: Some("http://tempuri.org/Add"),
        body: body.as_bytes(),
        ..Request::default()
    });
    let text = |fault: gatebench_xml::soap::Fault| String::from_utf8(fault.body).unwrap();
    passed.map(drop).map_err(text)
}

#[test]
fn bodies_are_validated_against_its_types() {
    assert_eq!(asked(SoapAction::No, "7"), Ok(()));
    let refused = asked(SoapAction::No, "seven").unwrap_err();
    assert!(
        refused.contains("Error Node: intB, Error code: 1824"),
        "{refused}"
    );
}

#[test]
fn actions_are_refused_by_name() {
    let refused = asked(SoapAction::Yes, "7").unwrap_err();
    assert!(
        refused
            .contains("Unable to find the 'wsdl:definitions' for WSDL 1.1 in the WSDL definition"),
        "{refused}"
    );
    assert!(refused.contains("soap:Server"), "{refused}");
}
