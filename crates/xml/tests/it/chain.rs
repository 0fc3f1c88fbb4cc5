//! Tests whole chains with messages that pass, messages that change, and messages that cause
//! faults.

use crate::common::calculator::*;
use gatebench_xml::Limits;
use gatebench_xml::soap::{Client, Culprit, Options, Request, Response, SoapAction, Target};

const COMPANY_XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="root"><xs:complexType><xs:sequence>
<xs:element name="companyName" type="xs:string"/></xs:sequence></xs:complexType></xs:element></xs:schema>"#;

#[test]
fn valid_messages_pass_byte_for_byte() {
    for api in [wsdl(), XSD.to_owned()] {
        let policy = policy(Options {
            api_schema: text(api),
            ..verbose()
        });
        assert_eq!(policy.problems(), []);
        let passed = policy.request(&soap(ADD)).unwrap();
        assert_eq!(
            (passed.body, passed.content_type, passed.target),
            (None, None, None)
        );
        let passed = policy.response(&soap_response(ADDED)).unwrap();
        assert_eq!((passed.body, passed.content_type), (None, None));
    }
}

#[test]
fn an_unknown_operation_gets_the_fault_of_the_scenario() {
    let policy = policy(Options {
        api_schema: text(XSD),
        ..verbose()
    });
    let fault = policy.request(&soap(&unknown())).unwrap_err();
    assert_eq!(
        (fault.status, fault.content_type),
        (500, "text/xml; charset=utf-8")
    );
    let expected = "<?xml version=\"1.0\" encoding=\"utf-8\"?>
<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">
  <soap:Body>
    <soap:Fault>
      <faultcode>soap:Client</faultcode>
      <faultstring>Request - XSD validation failed</faultstring>
      <detail>
        <errorMessage>Error Node: Add_DOES_NOT_EXIST, Error code: 1845, Line: 4, Message: Element '{http://tempuri.org/}Add_DOES_NOT_EXIST': No matching global declaration available for the validation root.</errorMessage>
      </detail>
    </soap:Fault>
  </soap:Body>
</soap:Envelope>";
    assert_eq!(fault_text(&fault), expected);
}

#[test]
fn a_broken_wsdl_gets_the_fault_of_the_scenario() {
    let broken = wsdl().replace("wsdl:definitions", "wsdl:WRONG_DEFINITION");
    let policy = policy(Options {
        api_schema: text(broken),
        ..verbose()
    });
    let fault = policy.request(&soap(ADD)).unwrap_err();
    assert_eq!((fault.status, fault.culprit), (500, Culprit::Client));
    assert!(fault_text(&fault).contains("<faultcode>soap:Client</faultcode>"));
    assert_eq!(
        message(&fault),
        "Unable to find a suitable Schema to validate the SOAP/XML"
    );
}

#[test]
fn invalid_bodies_are_reported_with_node_code_and_line() {
    let policy = policy(Options {
        api_schema: text(wsdl()),
        ..verbose()
    });
    let fault = |body: &str| message(&policy.request(&soap(body)).unwrap_err()).to_owned();
    assert_eq!(
        fault(&ADD.replace("      <intB>7</intB>\n", "")),
        "Error Node: Add, Error code: 1871, Line: 4, Message: Element '{http://tempuri.org/}Add': Missing child element(s). Expected is ( {http://tempuri.org/}intB )."
    );
    assert_eq!(
        fault(&ADD.replace("intA>", "intC>")),
        "Error Node: intC, Error code: 1871, Line: 5, Message: Element '{http://tempuri.org/}intC': This element is not expected. Expected is ( {http://tempuri.org/}intA )."
    );
    assert_eq!(
        fault(&ADD.replace("<intA>5", "<intA>\"5<!---->&gt;")),
        "Error Node: intA, Error code: 1824, Line: 5, Message: Element '{http://tempuri.org/}intA': ''5Greater Than' is not a valid value of the atomic type 'xs:int'."
    );
    assert_eq!(
        fault("Hello"),
        "Invalid XML input. Error code: 4, Line: 1, Message: Start tag expected, 'Less Than' not found"
    );
    assert_eq!(
        fault(""),
        "Invalid XML input. Error code: 4, Line: 1, Message: Document is empty"
    );
    let (head, tail) = (
        ADD.find("    <Add").unwrap(),
        ADD.find("  </soap:Body>").unwrap(),
    );
    let without_operation = format!("{}{}", &ADD[..head], &ADD[tail..]);
    assert_eq!(
        fault(&without_operation),
        "Invalid XML input. Unable to find the Operation tag in the 'soap:Body'"
    );
}

#[test]
fn envelopes_are_validated_by_their_version() {
    let policy = policy(verbose());
    let fault = |body: &str| policy.request(&soap(body)).unwrap_err();
    let empty = ADD.split("  <soap:Body>").next().unwrap().to_owned() + "</soap:Envelope>";
    assert_eq!(
        message(&fault(&empty)),
        "Error Node: Envelope, Error code: 1871, Line: 2, Message: Element '{http://schemas.xmlsoap.org/soap/envelope/}Envelope': Missing child element(s). Expected is one of ( {http://schemas.xmlsoap.org/soap/envelope/}Header, {http://schemas.xmlsoap.org/soap/envelope/}Body )."
    );
    let unknown = ADD.replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://INVALID.NAMESPACE.org/",
    );
    assert_eq!(
        message(&fault(&unknown)),
        "Error Node: Envelope, Error code: 1845, Line: 2, Message: Element '{http://INVALID.NAMESPACE.org/}Envelope': No matching global declaration available for the validation root."
    );
    let no_schema = fault(&soap12(ADD));
    assert_eq!(no_schema.culprit, Culprit::Server);
    // The envelope takes precedence over the header in determining the client's version.
    assert_eq!(
        no_schema.content_type,
        "application/soap+xml; charset=utf-8"
    );
    assert_eq!(
        message(&no_schema),
        "Invalid XSD schema. Unable to find schema for SOAP 1.2"
    );
}

#[test]
fn soap_1_2_has_its_own_schema() {
    let policy = policy(Options {
        soap12_schema: text(gatebench_xml::soap::SOAP_1_2_SCHEMA),
        api_schema: text(wsdl()),
        ..verbose()
    });
    assert_eq!(policy.problems(), []);
    let passed = policy.request(&soap(&soap12(ADD))).unwrap();
    assert_eq!((passed.body, passed.client), (None, Client::Soap12));
    let fault = soap12(
        "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code><s:Reason><s:Text>why</s:Text></s:Reason></s:Fault></s:Body></s:Envelope>",
    );
    let refused = policy.request(&soap(&fault)).unwrap_err();
    assert!(
        message(&refused)
            .contains("The attribute '{http://www.w3.org/XML/1998/namespace}lang' is required"),
        "{}",
        message(&refused)
    );
}

#[test]
fn documents_without_an_envelope_are_validated_by_the_first_slot() {
    let policy = policy(Options {
        soap_schema: text(COMPANY_XSD),
        ..verbose()
    });
    assert_eq!(
        policy
            .request(&soap("<root><companyName>K</companyName></root>"))
            .unwrap()
            .body,
        None
    );
    assert!(policy.request(&soap("<root/>")).is_err());
}

#[test]
fn scenario_5_adds_up() {
    let request = policy(Options {
        xslt_before: text(subtract_to_add()),
        api_schema: text(wsdl()),
        soap_action: SoapAction::Yes,
        xslt_after: text(int_b_to_10()),
        targets: vec![Target {
            xpath: "/soap:Envelope/soap:Body/*[local-name() = 'Add']/*[local-name()='intA']".into(),
            equals: "5".into(),
        }],
        namespaces: vec![(
            "soap".into(),
            "http://schemas.xmlsoap.org/soap/envelope/".into(),
        )],
        ..verbose()
    });
    assert_eq!(request.problems(), []);
    let subtract = subtract();
    let message = Request {
        soap_action: Some("http://tempuri.org/Add"),
        ..soap(&subtract)
    };
    let passed = request.request(&message).unwrap();
    assert_eq!(passed.target, Some(0));
    assert_eq!(
        body(&passed),
        r#"<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body><Add xmlns="http://tempuri.org/"><intA>5</intA><intB>10</intB></Add></soap:Body></soap:Envelope>"#
    );

    let options = Options {
        xslt_before: text(result_to_gateway_result()),
        api_schema: text(wsdl_with_result("GatewayResult")),
        xslt_after: text(strip_soap()),
        ..verbose()
    };
    let response = policy(options.clone());
    let passed = response.response(&soap_response(ADDED)).unwrap();
    assert_eq!(
        body(&passed),
        r#"<?xml version="1.0" encoding="utf-8"?><AddResponse xmlns="http://tempuri.org/"><GatewayResult>12</GatewayResult></AddResponse>"#
    );

    // If empty namespace declarations are not removed, the result has no namespace and does not
    // match the WSDL.
    let response = policy(Options {
        xslt_remove_empty_namespace: false,
        ..options
    });
    let fault = response.response(&soap_response(ADDED)).unwrap_err();
    assert!(
        crate::common::calculator::message(&fault)
            .contains("Element 'GatewayResult': This element is not expected")
    );
}

#[test]
fn the_first_target_that_matches_wins() {
    let target = |xpath: &str, equals: &str| Target {
        xpath: xpath.into(),
        equals: equals.into(),
    };
    let run = |targets: Vec<Target>| {
        let policy = policy(Options {
            targets,
            namespaces: vec![("t".into(), "http://tempuri.org/".into())],
            ..verbose()
        });
        policy.request(&soap(ADD)).map(|passed| passed.target)
    };
    assert_eq!(
        run(vec![
            target("//t:intB", "5"),
            target("//t:intA", "5"),
            target("//t:Add/*", "5")
        ]),
        Ok(Some(1))
    );
    assert_eq!(
        run(vec![
            target("//t:nothing", "5"),
            target("count(//t:intA)", "1")
        ]),
        Ok(None)
    );
    assert_eq!(
        run(vec![target("//t:*[2] | //t:intA[1]/text()", "5\n7")]),
        Ok(None)
    );
    let fault = run(vec![target("//u:intA", "5")]).unwrap_err();
    assert!(
        fault_text(&fault).contains("<faultstring>Request - XPath routing failed</faultstring>")
    );
    assert!(
        message(&fault).contains("Undefined namespace prefix"),
        "{}",
        message(&fault)
    );
    let fault = run(vec![target("//t:intA[", "5")]).unwrap_err();
    assert_eq!(fault.culprit, Culprit::Server);
}

#[test]
fn a_message_beyond_a_limit_of_routing_is_the_clients_fault() {
    let limits = Limits {
        operations: 100,
        ..Limits::default()
    };
    let policy = policy(Options {
        targets: vec![Target {
            xpath: "//*".into(),
            equals: "never".into(),
        }],
        limits,
        ..verbose()
    });
    let passed = policy.request(&soap(ADD)).map(|passed| passed.target);
    assert_eq!(passed, Ok(None));
    let number = "<intA>5</intA>";
    // The limit applies to squared lengths, and 2,000 comments in a row just meet it.
    for (inside, words) in [
        (number.repeat(200), "peration limit exceeded"),
        ("<!---->".repeat(2_001), "Too many comments"),
    ] {
        let fault = policy
            .request(&soap(&ADD.replace(number, &inside)))
            .unwrap_err();
        assert_eq!(fault.culprit, Culprit::Client, "{words}");
        assert!(message(&fault).contains(words), "{}", message(&fault));
        assert!(
            fault_text(&fault)
                .contains("<faultstring>Request - XPath routing failed</faultstring>")
        );
    }
}

#[test]
fn bad_definitions_are_the_servers_fault() {
    let steps = |options: Options| {
        let policy = policy(Options {
            is_verbose: true,
            ..options
        });
        assert!(!policy.problems().is_empty());
        let fault = policy.request(&soap(ADD)).unwrap_err();
        let json = policy
            .request(&Request {
                content_type: Some("application/json"),
                ..soap(ADD)
            })
            .unwrap_err();
        assert_eq!((fault.culprit, json.status), (Culprit::Server, 500));
        message(&fault).to_owned()
    };
    let invalid = "s:schema xmlns:s=''/>";
    assert_eq!(
        steps(Options {
            soap_schema: text(invalid),
            ..Options::default()
        }),
        "Invalid XSD schema. Error code: 4, Line: 1, Message: Start tag expected, 'Less Than' not found. Error code: 3067, Line: 0, Message: Failed to parse the XML resource 'in_memory_buffer'."
    );
    assert_eq!(
        steps(Options {
            api_schema: text(invalid),
            ..Options::default()
        }),
        "Invalid WSDL/XSD schema. Error code: 4, Line: 1, Message: Start tag expected, 'Less Than' not found"
    );
    assert_eq!(
        steps(Options {
            xslt_before: text(invalid),
            ..Options::default()
        }),
        "Invalid XSLT definition. Error code: 4, Line: 1, Message: Start tag expected, 'Less Than' not found"
    );
    assert_eq!(
        steps(Options {
            api_schema: text(wsdl().replace("wsdl:types", "wsdl:kinds")),
            ..Options::default()
        }),
        "Invalid WSDL/XSD schema. Unable to find the 'Less Than wsdl:types Greater Than'"
    );
    let newer = subtract_to_add().replace("version=\"1.0\"", "version=\"3.0\"");
    assert!(
        steps(Options {
            xslt_after: text(newer),
            ..Options::default()
        })
        .contains("only 1.1 features are supported")
    );
}

#[test]
fn json_clients_get_json() {
    let policy = policy(Options {
        xslt_before: text(subtract_to_add()),
        ..verbose()
    });
    let request = Request {
        content_type: Some("application/json"),
        ..soap("{\"a\": \"<b>\"}")
    };
    let fault = policy.request(&request).unwrap_err();
    assert_eq!(
        (fault.status, fault.content_type),
        (400, "application/json")
    );
    assert_eq!(
        fault_text(&fault),
        "{\n    \"message\": \"Request - XSLT transformation failed (before XSD validation)\",\n    \"message_verbose\": \"Invalid XML input. Error code: 4, Line: 1, Message: Start tag expected, '<' not found\"\n}"
    );
}

#[test]
fn results_in_text_are_text_and_change_the_content_type() {
    let to_json = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>
<xsl:template match="/">{"result": "<xsl:value-of select="normalize-space(.)"/> &lt;&amp;"}</xsl:template></xsl:stylesheet>"#;
    let policy = policy(Options {
        xslt_after: text(to_json),
        ..verbose()
    });
    let passed = policy.request(&soap(ADD)).unwrap();
    assert_eq!(body(&passed), r#"{"result": "5 7 <&"}"#);
    assert_eq!(passed.content_type, Some("application/json"));
    let passed = policy
        .response(&Response {
            client: Client::Json,
            ..soap_response(ADDED)
        })
        .unwrap();
    assert_eq!(passed.content_type, Some("application/json"));
    let passed = policy.response(&soap_response(ADDED)).unwrap();
    assert_eq!(passed.content_type, None, "the client uses SOAP");
}

#[test]
fn parameters_are_plain_strings() {
    let sheet = stylesheet(
        r#"<xsl:param name="p" select="'none'"/><xsl:template match="*[local-name()='intB']"><xsl:value-of select="$p"/></xsl:template>"#,
    );
    let policy = policy(Options {
        xslt_before: text(sheet),
        xslt_params: vec![
            ("p".into(), "it's \"//intA\" & <x>".into()),
            ("q".into(), "unused".into()),
        ],
        ..verbose()
    });
    let passed = policy.request(&soap(ADD)).unwrap();
    assert!(
        body(&passed).contains("</intA>it's \"//intA\" &amp; &lt;x&gt;</Add>"),
        "{}",
        body(&passed)
    );
}

#[test]
fn declarations_follow_xsl_output() {
    let result = |output: &str| {
        let sheet = stylesheet("").replace(
            r#"method="xml" encoding="utf-8" omit-xml-declaration="no""#,
            output,
        );
        let policy = policy(Options {
            xslt_before: text(sheet),
            ..verbose()
        });
        let passed = policy.request(&soap(ADD)).unwrap();
        body(&passed)
            .split("<soap:Envelope")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(result(r#"omit-xml-declaration="yes""#), "");
    assert_eq!(result(""), "<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    assert_eq!(
        result(r#"encoding="UTF-8" indent="yes""#),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    );
    assert_eq!(
        result(r#"encoding="iso-8859-1" standalone="yes""#),
        "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>"
    );
}

#[test]
fn errors_after_a_transformation_name_lines_of_its_text() {
    let policy = policy(Options {
        xslt_before: text(stylesheet(
            r#"<xsl:template match="*[local-name()='intB']"/>"#,
        )),
        api_schema: text(wsdl()),
        ..verbose()
    });
    let fault = policy.request(&soap(ADD)).unwrap_err();
    assert_eq!(
        message(&fault),
        "Error Node: Add, Error code: 1871, Line: 1, Message: Element '{http://tempuri.org/}Add': Missing child element(s). Expected is ( {http://tempuri.org/}intB )."
    );
}

#[test]
fn gzip_is_unpacked_and_packed_again() {
    use flate2::Compression;
    use flate2::read::GzDecoder;
    use flate2::write::GzEncoder;
    use std::io::{Read, Write};
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(subtract().as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let request = Request {
        content_encoding: Some("gzip"),
        body: &packed,
        ..soap("")
    };

    let changing = policy(Options {
        xslt_before: text(subtract_to_add()),
        ..verbose()
    });
    let passed = changing.request(&request).unwrap();
    let mut plain = String::new();
    GzDecoder::new(&*passed.body.unwrap())
        .read_to_string(&mut plain)
        .unwrap();
    assert!(plain.contains("<Add xmlns=\"http://tempuri.org/\">"));
    let response = Response {
        content_encoding: Some("gzip"),
        body: &packed,
        ..soap_response("")
    };
    assert!(changing.response(&response).unwrap().body.is_some());

    let validating = policy(verbose());
    assert_eq!(
        validating.request(&request).unwrap().body,
        None,
        "an unchanged body stays packed"
    );
    let fault = validating
        .request(&Request {
            body: b"no gzip",
            ..request
        })
        .unwrap_err();
    assert_eq!(fault.culprit, Culprit::Client);
    assert!(message(&fault).starts_with("Failed to inflate the gzipped SOAP/XML Body: "));
    let fault = validating
        .request(&Request {
            content_encoding: Some("deflate"),
            ..request
        })
        .unwrap_err();
    assert!(fault_text(&fault).contains("Request - General process failed"));
    assert_eq!(
        message(&fault),
        "Content-encoding of type 'deflate' is not supported"
    );
}

#[test]
fn response_faults_are_the_servers_and_state_the_upstreams_status() {
    let policy = policy(Options {
        api_schema: text(wsdl()),
        ..verbose()
    });
    let fault = policy
        .response(&soap_response(&ADDED.replace("12", "twelve")))
        .unwrap_err();
    assert!(fault_text(&fault).contains("<faultcode>soap:Server</faultcode>\n      <faultstring>Response - XSD validation failed</faultstring>"));
    assert!(fault_text(&fault).contains("<backendHttpCode>200</backendHttpCode>"));
    assert_eq!(policy.response(&soap_response("")).unwrap().body, None);
}

#[test]
fn responses_of_other_statuses_can_be_excluded() {
    let options = Options {
        ignore_if_upstream_error: true,
        xslt_before: text(strip_soap()),
        ..verbose()
    };
    let response = Response {
        status: 503,
        ..soap_response("no XML")
    };
    let fault = policy(options).response(&response).unwrap_err();
    assert!(fault_text(&fault).contains("Response - General process failed"));
    assert_eq!(
        message(&fault),
        "Service Backend returned an HTTP error. The SOAP/XML process is ignored"
    );
    assert!(fault_text(&fault).contains("<backendHttpCode>503</backendHttpCode>"));
}

#[test]
fn failures_without_verbose_have_no_details() {
    let policy = policy(Options {
        api_schema: text(wsdl()),
        ..Options::default()
    });
    assert_eq!(
        message(&policy.request(&soap(&unknown())).unwrap_err()),
        "SOAP/XML process failure"
    );
}
