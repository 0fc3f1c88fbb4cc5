//! Tests definitions that consist of several parts, and the times at which definitions are
//! compiled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::calculator::*;
use gatebench_xml::soap::{Options, Refresher, SoapPolicy, Source};
use gatebench_xml::{Files, Unreadable};

const MAIN: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:n="urn:n" targetNamespace="http://tempuri.org/" elementFormDefault="qualified">
  <xs:import namespace="urn:n" schemaLocation="parts/numbers.xsd"/><xs:include schemaLocation="parts/shapes.xsd"/>
  <xs:element name="Add"><xs:complexType><xs:sequence><xs:element name="intA" type="n:small"/><xs:element ref="intB" xmlns="http://tempuri.org/"/></xs:sequence></xs:complexType></xs:element>
</xs:schema>"#;
const NUMBERS: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:n"><xs:include schemaLocation="deeper/small.xsd"/></xs:schema>"#;
const SMALL: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:n"><xs:simpleType name="small"><xs:restriction base="xs:int"><xs:maxInclusive value="9"/></xs:restriction></xs:simpleType></xs:schema>"#;
const SHAPES: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://tempuri.org/"><xs:element name="intB" type="xs:int"/></xs:schema>"#;

#[test]
fn schemas_import_relative_to_their_location() {
    let files = [
        ("api/main.xsd", MAIN),
        ("api/parts/numbers.xsd", NUMBERS),
        ("api/parts/deeper/small.xsd", SMALL),
        ("api/parts/shapes.xsd", SHAPES),
    ];
    let options = Options {
        api_schema: Some(Source::At("api/main.xsd".into())),
        ..verbose()
    };
    let policy = policy_with(options.clone(), &files);
    assert_eq!(policy.problems(), []);
    assert!(policy.request(&soap(ADD)).is_ok());
    let fault = policy
        .request(&soap(&ADD.replace(">5<", ">50<")))
        .unwrap_err();
    assert!(
        message(&fault).contains("maxInclusive"),
        "{}",
        message(&fault)
    );

    let policy = policy_with(options, &files[..2]);
    let fault = policy.request(&soap(ADD)).unwrap_err();
    assert!(
        message(&fault)
            .contains("Failed to load the document 'api/parts/deeper/small.xsd' for inclusion"),
        "{}",
        message(&fault)
    );
}

#[test]
fn included_texts_come_first() {
    let options = Options {
        api_schema: text(MAIN),
        includes: vec![
            ("parts/numbers.xsd".into(), Source::Text(NUMBERS.into())),
            (
                "parts/deeper/small.xsd".into(),
                Source::At("elsewhere.xsd".into()),
            ),
            ("parts/shapes.xsd".into(), Source::Text(SHAPES.into())),
        ],
        ..verbose()
    };
    let policy = policy_with(options, &[("elsewhere.xsd", SMALL)]);
    assert_eq!(policy.problems(), []);
    assert!(policy.request(&soap(ADD)).is_ok());
}

#[test]
fn schemas_of_a_wsdl_import_each_other_by_namespace_alone() {
    let wsdl = r#"<definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:n="urn:n"><types>
<xs:schema targetNamespace="urn:n"><xs:import namespace="http://tempuri.org/"/><xs:simpleType name="small"><xs:restriction base="xs:int"><xs:maxInclusive value="9"/></xs:restriction></xs:simpleType></xs:schema>
<xs:schema targetNamespace="http://tempuri.org/" elementFormDefault="qualified"><xs:import namespace="urn:n"/>
<xs:element name="Add"><xs:complexType><xs:sequence><xs:element name="intA" type="n:small"/><xs:element name="intB" type="n:small"/></xs:sequence></xs:complexType></xs:element></xs:schema>
</types></definitions>"#;
    let policy = policy(Options {
        api_schema: text(wsdl),
        ..verbose()
    });
    assert_eq!(policy.problems(), []);
    assert!(policy.request(&soap(ADD)).is_ok());
    assert!(policy.request(&soap(&ADD.replace(">5<", ">50<"))).is_err());
}

#[test]
fn a_wsdl_imports_others() {
    let main = r#"<w:definitions xmlns:w="http://schemas.xmlsoap.org/wsdl/"><w:import namespace="http://tempuri.org/" location="calculator.wsdl"/></w:definitions>"#;
    let calculator = wsdl();
    let files = [("a/main.wsdl", main), ("a/calculator.wsdl", &*calculator)];
    let options = Options {
        api_schema: Some(Source::At("a/main.wsdl".into())),
        soap_action: gatebench_xml::soap::SoapAction::Yes,
        ..verbose()
    };
    let policy = policy_with(options.clone(), &files);
    assert_eq!(policy.problems(), []);
    assert!(message(&policy.request(&soap(ADD)).unwrap_err()).contains("'Required'"));
    let policy = policy_with(options, &files[..1]);
    assert!(
        message(&policy.request(&soap(ADD)).unwrap_err())
            .contains("Failed to load the WSDL at 'a/calculator.wsdl'")
    );
}

#[test]
fn wsdls_that_import_each_other_end_and_too_many_are_refused() {
    let importing = |locations: &[String]| {
        let imports = locations.iter().map(|location| {
            format!("<w:import namespace=\"http://tempuri.org/\" location=\"{location}\"/>")
        });
        let imports: String = imports.collect();
        format!(
            "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\">{imports}</w:definitions>"
        )
    };
    let calculator = wsdl();
    let options = |location: &str| Options {
        api_schema: Some(Source::At(location.into())),
        ..verbose()
    };
    let round = [
        importing(&["b.wsdl".into()]),
        importing(&["a.wsdl".into(), "c.wsdl".into()]),
    ];
    let files = [
        ("a.wsdl", &*round[0]),
        ("b.wsdl", &*round[1]),
        ("c.wsdl", &*calculator),
    ];
    let policy = policy_with(options("a.wsdl"), &files);
    assert_eq!(policy.problems(), []);
    assert!(policy.request(&soap(ADD)).is_ok());
    for (count, is_told) in [(100, false), (101, true)] {
        let names: Vec<String> = (0..count).map(|at| format!("{at}.wsdl")).collect();
        let main = importing(&names);
        let mut files: Vec<(&str, &str)> =
            names.iter().map(|name| (&**name, &*calculator)).collect();
        files.push(("main.wsdl", &main));
        let problems = policy_with(options("main.wsdl"), &files).problems();
        let is_there = problems
            .iter()
            .any(|(_, why)| why.contains("More than 100 WSDLs are imported"));
        assert_eq!(is_there, is_told, "{problems:?}");
    }
}

#[test]
fn stylesheets_import_too() {
    let main = subtract_to_add().replace(
        "<xsl:output",
        "<xsl:import href=\"lib/more.xsl\"/><xsl:output",
    );
    let more = stylesheet("<xsl:template match=\"comment()\" name=\"never\"/>");
    let options = Options {
        xslt_before: Some(Source::At("x/main.xsl".into())),
        ..verbose()
    };
    let policy = policy_with(
        options.clone(),
        &[("x/main.xsl", &main), ("x/lib/more.xsl", &more)],
    );
    assert_eq!(policy.problems(), []);
    assert!(policy.request(&soap(&subtract())).is_ok());
    let policy = policy_with(options, &[("x/main.xsl", &main)]);
    assert!(message(&policy.request(&soap(ADD)).unwrap_err()).contains("lib/more.xsl"));
}

#[test]
fn every_schema_is_tried_in_order() {
    let wsdl = r#"<definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:xs="http://www.w3.org/2001/XMLSchema"><types>
<xs:schema targetNamespace="urn:one"><xs:element name="One" type="xs:int"/></xs:schema>
<xs:schema targetNamespace="urn:two"><xs:element name="Two" type="xs:int"/></xs:schema></types></definitions>"#;
    let policy = policy(Options {
        api_schema: text(wsdl),
        ..verbose()
    });
    let envelope = |body: &str| {
        format!(
            "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body>{body}</s:Body></s:Envelope>"
        )
    };
    let run = |body: &str| {
        policy
            .request(&soap(&envelope(body)))
            .map_err(|fault| message(&fault).to_owned())
    };
    assert!(
        run("<One xmlns='urn:one'>1</One>").is_ok() && run("<Two xmlns='urn:two'>2</Two>").is_ok()
    );
    assert!(
        run("<Two xmlns='urn:two'>two</Two>")
            .unwrap_err()
            .contains("Error code: 1824")
    );
    assert!(
        run("<Three xmlns='urn:two'/>")
            .unwrap_err()
            .contains("Error code: 1845")
    );
}

struct Counted(AtomicUsize, String);

impl Files for Counted {
    fn read(&self, _: &str) -> Result<Vec<u8>, Unreadable> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(self.1.clone().into_bytes())
    }
}

#[test]
fn failures_are_kept_and_only_the_refresher_compiles_again() {
    for definition in [wsdl(), "no XML".to_owned()] {
        let files = Arc::new(Counted(AtomicUsize::new(0), definition));
        let options = Options {
            api_schema: Some(Source::At("a.wsdl".into())),
            ttl: Duration::from_millis(20),
            ..verbose()
        };
        let policy = Arc::new(SoapPolicy::compile(options, Arc::clone(&files) as _).unwrap());
        for _ in 0..50 {
            let _ = policy.request(&soap(ADD));
        }
        assert_eq!(files.0.load(Ordering::Relaxed), 1);
        let outcome = policy.request(&soap(ADD));
        let refresher = Refresher::start(&[Arc::clone(&policy)]).unwrap();
        while files.0.load(Ordering::Relaxed) < 3 {
            assert_eq!(policy.request(&soap(ADD)), outcome);
        }
        drop(refresher);
        let read = files.0.load(Ordering::Relaxed);
        policy.recompile();
        assert_eq!(files.0.load(Ordering::Relaxed), read + 1);
        assert!(policy.due_in() <= Duration::from_millis(20));
    }
}
