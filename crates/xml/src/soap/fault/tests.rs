use super::*;

fn trouble(is_verbose: bool, culprit: Culprit, upstream_status: Option<u16>) -> Trouble<'static> {
    Trouble {
        title: "Request - XSD validation failed",
        details: "a \"b\" <c> & \\ \u{1}\n",
        culprit,
        is_verbose,
        upstream_status,
    }
}

fn text(fault: &Fault) -> &str {
    std::str::from_utf8(&fault.body).unwrap()
}

#[test]
fn soap_1_1_faults_are_exact_byte_for_byte() {
    let fault = Fault::new(Client::Soap11, &trouble(true, Culprit::Client, None));
    assert_eq!(
        (fault.status, fault.content_type),
        (500, "text/xml; charset=utf-8")
    );
    let expected = concat!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n",
        "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">\n",
        "  <soap:Body>\n",
        "    <soap:Fault>\n",
        "      <faultcode>soap:Client</faultcode>\n",
        "      <faultstring>Request - XSD validation failed</faultstring>\n",
        "      <detail>\n",
        "        <errorMessage>a 'b' Less ThancGreater Than &amp; \\ \n</errorMessage>\n",
        "      </detail>\n",
        "    </soap:Fault>\n",
        "  </soap:Body>\n",
        "</soap:Envelope>",
    );
    assert_eq!(text(&fault), expected);

    let fault = Fault::new(Client::Soap11, &trouble(false, Culprit::Server, Some(200)));
    assert!(text(&fault).contains("<faultcode>soap:Server</faultcode>"));
    assert!(
        text(&fault)
            .contains("<errorMessage>SOAP/XML process failure</errorMessage>\n      </detail>")
    );
    let fault = Fault::new(Client::Soap11, &trouble(true, Culprit::Server, Some(200)));
    assert!(text(&fault).contains(
        "</errorMessage>\n        <backendHttpCode>200</backendHttpCode>\n      </detail>"
    ));
}

#[test]
fn soap_1_2_faults_are_exact_byte_for_byte() {
    let fault = Fault::new(Client::Soap12, &trouble(false, Culprit::Client, None));
    assert_eq!(
        (fault.status, fault.content_type),
        (500, "application/soap+xml; charset=utf-8")
    );
    let expected = concat!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n",
        "<env:Envelope xmlns:env=\"http://www.w3.org/2003/05/soap-envelope\" xmlns:f=\"http://www.example.org/faults\" xmlns:xml=\"http://www.w3.org/XML/1998/namespace\">\n",
        "  <env:Body>\n",
        "    <env:Fault>\n",
        "      <env:Code>\n",
        "        <env:Value>env:Sender</env:Value>\n",
        "      </env:Code>\n",
        "      <env:Reason>\n",
        "        <env:Text xml:lang=\"en\">Request - XSD validation failed</env:Text>\n",
        "      </env:Reason>\n",
        "      <env:Detail>\n",
        "        <f:errorDetails>\n",
        "          <f:errorMessage>SOAP/XML process failure</f:errorMessage>\n",
        "        </f:errorDetails>\n",
        "      </env:Detail>\n",
        "    </env:Fault>\n",
        "  </env:Body>\n",
        "</env:Envelope>",
    );
    assert_eq!(text(&fault), expected);
    let fault = Fault::new(Client::Soap12, &trouble(true, Culprit::Server, Some(503)));
    assert!(text(&fault).contains("<env:Value>env:Receiver</env:Value>"));
    assert!(
        text(&fault)
            .contains("</f:errorMessage>\n          <f:backendHttpCode>503</f:backendHttpCode>\n")
    );
}

#[test]
fn json_faults_are_exact_byte_for_byte() {
    let fault = Fault::new(Client::Json, &trouble(true, Culprit::Client, Some(500)));
    assert_eq!(
        (fault.status, fault.content_type),
        (400, "application/json")
    );
    let expected = concat!(
        "{\n",
        "    \"message\": \"Request - XSD validation failed\",\n",
        "    \"message_verbose\": \"a 'b' <c> & \\\\ \\u0001\\n\",\n",
        "    \"backend_http_code\": 500\n",
        "}",
    );
    assert_eq!(text(&fault), expected);
    let fault = Fault::new(Client::Json, &trouble(false, Culprit::Server, Some(500)));
    assert_eq!(fault.status, 500);
    assert_eq!(
        text(&fault),
        "{\n    \"message\": \"Request - XSD validation failed\"\n\n}"
    );
}

#[test]
fn the_status_of_another_policy_is_kept() {
    let fault = Fault::of_status(401, Client::Soap11, true).unwrap();
    assert_eq!((fault.status, fault.culprit), (401, Culprit::Client));
    assert!(text(&fault).contains("<faultstring>Unauthorized</faultstring>"));
    assert!(text(&fault).contains("<errorMessage>HTTP Error code is 401</errorMessage>"));
    let fault = Fault::of_status(502, Client::Soap12, false).unwrap();
    assert!(text(&fault).contains(">Bad Gateway<") && text(&fault).contains("env:Receiver"));
    assert_eq!(Fault::of_status(429, Client::Json, true), None);
}

#[test]
fn every_fault_is_well_formed() {
    for client in [Client::Soap11, Client::Soap12] {
        for is_verbose in [true, false] {
            let fault = Fault::new(client, &trouble(is_verbose, Culprit::Client, Some(200)));
            crate::Document::parse(&fault.body, &crate::Limits::default()).unwrap();
        }
    }
}
