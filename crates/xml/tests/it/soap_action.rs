//! Tests the comparison of the SOAPAction with the WSDL.

use crate::common::calculator::*;
use gatebench_xml::soap::{Culprit, Options, Request, SoapAction, SoapPolicy};

fn wsdl_policy(soap_action: SoapAction) -> SoapPolicy {
    policy(Options {
        api_schema: text(wsdl()),
        soap_action,
        ..verbose()
    })
}

#[test]
fn soap_actions_are_checked_in_all_three_modes() {
    const PREFIX: &str = "Validation of 'SOAPAction' header: ";
    let yes = wsdl_policy(SoapAction::Yes);
    let null = wsdl_policy(SoapAction::YesNullAllowed);
    let no = wsdl_policy(SoapAction::No);
    let subtract = subtract();
    let multiply = ADD.replace("Add", "Multiply");
    let divide = ADD.replace("Add", "Divide");
    let with = |body: &'static str, action| Request {
        soap_action: action,
        ..soap(body)
    };
    let refused = |policy: &SoapPolicy, request: &Request<'_>| {
        let fault = policy.request(request).unwrap_err();
        message(&fault).strip_prefix(PREFIX).unwrap().to_owned()
    };

    assert!(
        no.request(&with(ADD, Some("http://tempuri.org/Nothing")))
            .is_ok()
    );
    for policy in [&yes, &null] {
        assert!(
            policy
                .request(&with(ADD, Some("http://tempuri.org/Add")))
                .is_ok()
        );
        assert!(
            policy
                .request(&with(ADD, Some("\"http://tempuri.org/Add\"")))
                .is_ok()
        );
        assert_eq!(
            refused(policy, &with(ADD, Some("http://tempuri.org/Subtract"))),
            "The Operation Name found in 'soap:Body' is 'Add'. According to the WSDL the 'SOAPAction' should be 'http://tempuri.org/Add' and not 'http://tempuri.org/Subtract'"
        );
        assert_eq!(
            refused(policy, &with(ADD, Some(""))),
            "The Operation Name found in 'soap:Body' is 'Add'. According to the WSDL the 'SOAPAction' should be 'http://tempuri.org/Add' and not ''"
        );
    }
    assert_eq!(
        refused(&yes, &soap(ADD)),
        "The 'SOAPAction' header is not set but according to the WSDL this value is 'Required'"
    );
    assert!(null.request(&soap(ADD)).is_ok());
    assert!(yes.request(&soap(&subtract)).is_ok() && yes.request(&soap(&multiply)).is_ok());
    assert_eq!(
        refused(&yes, &soap(&divide)),
        "Unable to get the value of 'soap:operation soapAction' attribute in the WSDL linked with 'Divide' Operation name"
    );
    let both = Request {
        content_type: Some("text/xml;action=\"http://tempuri.org/Add\""),
        ..with(ADD, Some("http://tempuri.org/Add"))
    };
    assert_eq!(
        refused(&yes, &both),
        "'SOAPAction' for SOAP 1.1 and 'action' for SOAP 1.2 have been defined simultaneously"
    );
    let action = Request {
        soap_action: None,
        ..both
    };
    assert_eq!(
        refused(&yes, &action),
        "Found a SOAP 1.1 envelope and an 'action' field in the 'Content-Type' header linked with for SOAP 1.2"
    );
}

#[test]
fn soap_actions_of_soap_1_2_are_checked() {
    let policy = policy(Options {
        soap12_schema: text(gatebench_xml::soap::SOAP_1_2_SCHEMA),
        api_schema: text(wsdl()),
        soap_action: SoapAction::Yes,
        ..verbose()
    });
    let message12 = soap12(ADD);
    let request = |content_type, soap_action| {
        let request = Request {
            content_type: Some(content_type),
            soap_action,
            ..soap(&message12)
        };
        policy.request(&request)
    };
    assert!(
        request(
            "application/soap+xml; charset=utf-8; action=\"http://tempuri.org/Add\"",
            None
        )
        .is_ok()
    );
    let fault = request("application/soap+xml", Some("http://tempuri.org/Add")).unwrap_err();
    assert_eq!(
        message(&fault),
        "Validation of 'SOAPAction' header: Found a SOAP 1.2 envelope and a 'SOAPAction' header linked with for SOAP 1.1"
    );
    assert!(fault_text(&fault).contains("<env:Value>env:Sender</env:Value>"));
    assert!(request("application/soap+xml;action=\"a\";action=\"b\"", None).is_err());
}

#[test]
fn soap_action_needs_a_wsdl() {
    for (api, why) in [
        (
            None,
            "No WSDL definition found: it's mandatory to validate the 'SOAPAction' header",
        ),
        (
            text(XSD),
            "Unable to find the 'wsdl:definitions' for WSDL 1.1 in the WSDL definition",
        ),
    ] {
        let policy = policy(Options {
            api_schema: api,
            soap_action: SoapAction::Yes,
            ..verbose()
        });
        let fault = policy.request(&soap(ADD)).unwrap_err();
        assert_eq!(fault.culprit, Culprit::Server);
        assert_eq!(
            message(&fault),
            format!("Validation of 'SOAPAction' header: {why}")
        );
    }
}
