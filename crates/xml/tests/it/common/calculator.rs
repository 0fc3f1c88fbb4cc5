//! The WSDL, schemas, stylesheets and messages of a calculator, as in the scenarios.

use std::collections::HashMap;
use std::sync::Arc;

use gatebench_xml::NoFiles;
use gatebench_xml::soap::{Fault, Options, Passed, Request, Response, SoapPolicy, Source};

pub const ADD: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<soap:Envelope xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <soap:Body>
    <Add xmlns="http://tempuri.org/">
      <intA>5</intA>
      <intB>7</intB>
    </Add>
  </soap:Body>
</soap:Envelope>"#;

pub const ADDED: &str = r#"<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><soap:Body><AddResponse xmlns="http://tempuri.org/"><AddResult>12</AddResult></AddResponse></soap:Body></soap:Envelope>"#;

pub fn subtract() -> String {
    ADD.replace("Add", "Subtract")
}

pub fn unknown() -> String {
    ADD.replace("Add", "Add_DOES_NOT_EXIST")
}

pub fn soap12(message: &str) -> String {
    message.replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    )
}

/// Returns the types of the WSDL. `result` is the name of Add's result element.
fn types(result: &str) -> String {
    let mut out = String::new();
    for operation in ["Add", "Subtract", "Multiply", "Divide"] {
        let result = if operation == "Add" {
            result.to_owned()
        } else {
            format!("{operation}Result")
        };
        out.push_str(&format!(
            r#"<xs:element name="{operation}"><xs:complexType><xs:sequence>
  <xs:element name="intA" type="xs:int"/><xs:element name="intB" type="xs:int"/>
</xs:sequence></xs:complexType></xs:element>
<xs:element name="{operation}Response"><xs:complexType><xs:sequence>
  <xs:element name="{result}" type="xs:int"/>
</xs:sequence></xs:complexType></xs:element>
"#
        ));
    }
    out
}

fn binding(prefix: &str) -> String {
    let mut out = format!(r#"<wsdl:binding name="{prefix}" type="tns:Calculator">"#);
    for (operation, required) in [
        ("Add", r#" soapActionRequired="true""#),
        ("Subtract", r#" soapActionRequired="false""#),
        ("Multiply", ""),
    ] {
        out.push_str(&format!(
            r#"<wsdl:operation name="{operation}"><{prefix}:operation soapAction="http://tempuri.org/{operation}"{required} style="document"/></wsdl:operation>"#
        ));
    }
    out.push_str(&format!(
        r#"<wsdl:operation name="Divide"><{prefix}:operation style="document"/></wsdl:operation></wsdl:binding>"#
    ));
    out
}

pub fn wsdl_with_result(result: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?>
<wsdl:definitions xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:soap12="http://schemas.xmlsoap.org/wsdl/soap12/" xmlns:tns="http://tempuri.org/" xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://tempuri.org/">
<wsdl:types><xs:schema elementFormDefault="qualified" targetNamespace="http://tempuri.org/">
{}</xs:schema></wsdl:types>
{}
{}
</wsdl:definitions>"#,
        types(result),
        binding("soap"),
        binding("soap12")
    )
}

pub fn wsdl() -> String {
    wsdl_with_result("AddResult")
}

pub const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://tempuri.org/" elementFormDefault="qualified">
  <xs:element name="Add"><xs:complexType><xs:sequence>
    <xs:element name="intA" type="xs:integer"/><xs:element name="intB" type="xs:integer"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="AddResponse"><xs:complexType><xs:sequence>
    <xs:element name="AddResult" type="xs:string"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"#;

/// Returns an identity transformation with additional `templates`.
pub fn stylesheet(templates: &str) -> String {
    format!(
        r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" exclude-result-prefixes="soap">
  <xsl:output method="xml" encoding="utf-8" omit-xml-declaration="no"/>
  <xsl:strip-space elements="*"/>
  <xsl:template match="node()|@*"><xsl:copy><xsl:apply-templates select="node()|@*"/></xsl:copy></xsl:template>
  {templates}
</xsl:stylesheet>"#
    )
}

pub fn subtract_to_add() -> String {
    stylesheet(
        r#"<xsl:template match="*[local-name()='Subtract']"><Add xmlns="http://tempuri.org/"><xsl:apply-templates select="@*|node()"/></Add></xsl:template>"#,
    )
}

pub fn int_b_to_10() -> String {
    stylesheet(r#"<xsl:template match="*[local-name()='intB']"><intB>10</intB></xsl:template>"#)
}

pub fn result_to_gateway_result() -> String {
    stylesheet(
        r#"<xsl:template match="*[local-name()='AddResult']"><GatewayResult><xsl:apply-templates select="@*|node()"/></GatewayResult></xsl:template>"#,
    )
}

pub fn strip_soap() -> String {
    stylesheet(
        r#"<xsl:template match="soap:Envelope"><xsl:apply-templates select="soap:Body/*"/></xsl:template>"#,
    )
}

pub fn text(source: impl Into<String>) -> Option<Source> {
    Some(Source::Text(source.into()))
}

pub fn verbose() -> Options {
    Options {
        is_verbose: true,
        ..Options::default()
    }
}

pub fn policy(options: Options) -> SoapPolicy {
    SoapPolicy::compile(options, Arc::new(NoFiles)).unwrap()
}

pub fn policy_with(options: Options, files: &[(&str, &str)]) -> SoapPolicy {
    let files: HashMap<String, String> = files
        .iter()
        .map(|(location, text)| ((*location).to_owned(), (*text).to_owned()))
        .collect();
    SoapPolicy::compile(options, Arc::new(files)).unwrap()
}

pub fn soap(body: &str) -> Request<'_> {
    Request {
        content_type: Some("text/xml; charset=utf-8"),
        body: body.as_bytes(),
        ..Request::default()
    }
}

pub fn soap_response(body: &str) -> Response<'_> {
    Response {
        status: 200,
        content_type: Some("text/xml;charset=utf-8"),
        body: body.as_bytes(),
        ..Response::default()
    }
}

pub fn body(passed: &Passed) -> &str {
    std::str::from_utf8(passed.body.as_deref().unwrap()).unwrap()
}

pub fn fault_text(fault: &Fault) -> &str {
    std::str::from_utf8(&fault.body).unwrap()
}

pub fn message(fault: &Fault) -> &str {
    let (_, rest) = fault_text(fault).split_once("rrorMessage>").unwrap();
    rest.split_once("</").unwrap().0
}
