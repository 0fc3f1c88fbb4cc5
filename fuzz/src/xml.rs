//! The input of the SOAP/XML policies: bodies, definitions, stylesheets and gzip bodies. Every
//! target except [`stylesheets`] checks that processing a request twice produces the same result;
//! [`bodies`] and [`envelopes`] also check that a forwarded body is XML.

use std::sync::{Arc, LazyLock};

use gatebench_xml::soap::{
    Client, Fault, Options, Passed, Request, Response, SOAP_1_2_SCHEMA, SoapAction, SoapPolicy,
    Source, Target,
};
use gatebench_xml::{Document, Limits, NoFiles, Parameters, Stylesheet};

pub(crate) const WSDL: &str =
    include_str!("../../scenarios/published/soap/definitions/calculator.wsdl");
pub(crate) const TO_ADD: &str =
    include_str!("../../scenarios/published/soap/definitions/subtract-to-add.xslt");
const TO_TEN: &str = include_str!("../../scenarios/published/soap/definitions/int-b-to-10.xslt");
const ACTION: &str = "http://tempuri.org/Add";

pub(crate) const ENVELOPE: &str = "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">\
<soap:Body><Subtract xmlns=\"http://tempuri.org/\"><intA>5</intA><intB>0</intB></Subtract></soap:Body></soap:Envelope>";

/// Limits that are small enough to keep every input fast. The time limit is so long that results do
/// not depend on the speed of the machine.
fn limits() -> Limits {
    Limits {
        document_bytes: 1 << 20,
        operations: 100_000,
        transform_depth: 300,
        time_ms: Some(60_000),
        ..Limits::default()
    }
}

fn policy(options: Options) -> Option<SoapPolicy> {
    let limits = limits();
    SoapPolicy::compile(Options { limits, ..options }, Arc::new(NoFiles)).ok()
}

static CHAIN: LazyLock<Option<SoapPolicy>> = LazyLock::new(|| {
    let text = |text: &str| Some(Source::Text(text.to_owned()));
    policy(Options {
        xslt_before: text(TO_ADD),
        xslt_after: text(TO_TEN),
        api_schema: text(WSDL),
        soap12_schema: text(SOAP_1_2_SCHEMA),
        soap_action: SoapAction::YesNullAllowed,
        is_verbose: true,
        targets: vec![Target {
            xpath: "//*[local-name()='intA']".into(),
            equals: "5".into(),
        }],
        ..Options::default()
    })
});

fn request(policy: &SoapPolicy, encoding: Option<&str>, body: &[u8]) -> Result<Passed, Fault> {
    policy.request(&Request {
        content_type: Some("text/xml"),
        content_encoding: encoding,
        soap_action: Some(ACTION),
        body,
    })
}

/// With this many spaces added, a body exceeds the size above which gatebench-xml applies stricter
/// checks.
const LARGE_BYTES: usize = 16 << 10;

/// Processes a body as a request, also with trailing spaces that make it large, and as a response.
pub fn bodies(data: &[u8]) {
    let Some(policy) = &*CHAIN else {
        panic!("the chain does not compile");
    };
    let asked = request(policy, None, data);
    assert_eq!(
        asked,
        request(policy, None, data),
        "the same input must produce the same result"
    );
    let large = [data, &[b' '; LARGE_BYTES]].concat();
    let asked_at_large = request(policy, None, &large);
    assert_eq!(
        asked_at_large,
        request(policy, None, &large),
        "the same input must produce the same result"
    );
    if let (Ok(large), Ok(small)) = (asked_at_large, &asked) {
        assert_eq!(
            large.body, small.body,
            "spaces after the document changed the result"
        );
    }
    let answered = policy.response(&Response {
        status: 200,
        content_type: Some("text/xml"),
        content_encoding: None,
        body: data,
        client: Client::Soap12,
    });
    for body in [asked, answered]
        .into_iter()
        .flatten()
        .filter_map(|it| it.body)
    {
        let read = Document::parse(&body, &limits());
        assert!(
            read.is_ok(),
            "the result is not XML: {}",
            String::from_utf8_lossy(&body)
        );
    }
}

/// Wraps the input in an envelope of each SOAP version, and processes both envelopes.
pub fn envelopes(data: &[u8]) {
    let inside = String::from_utf8_lossy(data);
    for namespace in [
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    ] {
        let text = format!("<s:Envelope xmlns:s=\"{namespace}\">{inside}</s:Envelope>");
        bodies(text.as_bytes());
    }
}

/// Compiles a WSDL definition or a schema, and validates a message with it.
pub fn definitions(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let compiled = policy(Options {
        api_schema: Some(Source::Text(text)),
        soap_action: SoapAction::Yes,
        is_verbose: true,
        ..Options::default()
    });
    if let Some(policy) = compiled {
        let first = request(&policy, None, ENVELOPE.as_bytes());
        assert_eq!(
            first,
            request(&policy, None, ENVELOPE.as_bytes()),
            "the same input must produce the same result"
        );
    }
}

pub fn stylesheets(data: &[u8]) {
    let limits = limits();
    let Ok(style) = Stylesheet::parse(data, None, &NoFiles, &limits) else {
        return;
    };
    let Ok(mut input) = Document::parse(ENVELOPE.as_bytes(), &limits) else {
        panic!("the envelope is not XML");
    };
    let _budget = gatebench_xml::Budget::begin(&limits);
    if let Ok(result) = style.apply(&mut input, &Parameters::default(), &limits) {
        let mut out = Vec::new();
        // A result that cannot be represented in the output format is an error, which is allowed.
        let _ = style.write(&result, &mut out, &limits);
        let _ = result.write_canonical(&mut out, &limits);
    }
}

/// Processes a body that is declared as gzip, even if it is not.
pub fn packed(data: &[u8]) {
    if let Some(policy) = &*CHAIN {
        let first = request(policy, Some("gzip"), data);
        assert_eq!(
            first,
            request(policy, Some("gzip"), data),
            "the same input must produce the same result"
        );
    }
}
