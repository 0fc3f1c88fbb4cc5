//! Tests that messages with a document type are rejected before the type's content is read, and
//! that the document types of definitions are limited.

use std::collections::HashMap;
use std::fs;

use crate::common::calculator::*;
use gatebench_xml::soap::Options;
use gatebench_xml::{Document, Limits, NoFiles, Schema, Stylesheet, Transform};

fn refused(bytes: &[u8]) -> String {
    Document::parse(bytes, &Limits::default())
        .unwrap_err()
        .to_string()
}

fn definition(text: &str) -> Result<Document, String> {
    Document::parse_definition(text.as_bytes(), &Limits::DEFINITIONS, None)
        .map_err(|why| why.to_string())
}

/// Returns the text in UTF-8, with and without a byte order mark, and in UTF-16 with either byte
/// order.
fn in_all_encodings(text: &str) -> [Vec<u8>; 4] {
    let wide = |to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(to_bytes).collect()
    };
    [
        text.as_bytes().to_vec(),
        [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        wide(u16::to_le_bytes),
        wide(u16::to_be_bytes),
    ]
}

fn document_types() -> [String; 8] {
    let names: Vec<String> = (0..500).map(|n| format!("n{n}")).collect();
    [
        "<!DOCTYPE a>".to_owned(),
        "<!DOCTYPE a []>".to_owned(),
        "<!DOCTYPE a SYSTEM 'http://x.test/a.dtd'>".to_owned(),
        "<!DOCTYPE a PUBLIC '-//X//Y' 'a.dtd' [<!ENTITY b 'c'>]>".to_owned(),
        "<!DOCTYPE a [<!ENTITY % b SYSTEM 'file:///etc/passwd'> %b;]>".to_owned(),
        format!(
            "<!DOCTYPE a [<!ATTLIST a b ({}) #IMPLIED>]>",
            names.join("|")
        ),
        format!("<!DOCTYPE a [<!ELEMENT a ({})>]>", names.join(",")),
        "<!DOCTYPE a [<!NO declaration>]>".to_owned(),
    ]
}

/// Asserts that a document is rejected for its document type, and that nothing in the type is read.
/// If the type were read, the last one of [`document_types`] would cause another error.
fn assert_unread(bytes: &[u8], shown: &str) {
    let why = refused(bytes);
    let shown = &shown[..shown.len().min(80)];
    assert!(
        why.contains("A message may not have a document type"),
        "{shown}: {why}"
    );
    assert!(!why.contains("Markup declaration"), "{shown}: {why}");
}

#[test]
fn messages_with_a_document_type_are_refused_whatever_it_declares() {
    for document_type in document_types() {
        for before in ["", "\n", "<!-- a comment --><?and an instruction?>\n"] {
            for padding in [0, 20_000] {
                let blanks = " ".repeat(padding);
                let text = format!("{before}{document_type}<a/>{blanks}");
                for bytes in in_all_encodings(&text) {
                    assert_unread(&bytes, &text);
                }
            }
        }
    }
}

/// A careless parser would continue after a mistake without calling the handlers.
#[test]
fn a_mistake_before_a_document_type_does_not_hide_it() {
    for document_type in document_types() {
        for before in [
            "<!-- a -- comment -->",
            "<?xml a='b'?>",
            "<?xml version='1.0'?><?xml version='1.0'?>",
            "<?xml version='1.0' encoding='UTF-8' c='d'?>",
        ] {
            let text = format!("{before}{document_type}<a/>");
            for bytes in in_all_encodings(&text) {
                assert_unread(&bytes, &text);
            }
            // Nothing after the mistake is read in a large document.
            let large = format!("{text}{}", " ".repeat(20_000));
            for bytes in in_all_encodings(&large) {
                let why = refused(&bytes);
                assert!(!why.contains("Markup declaration"), "{before}: {why}");
            }
        }
    }
}

/// Large documents in UTF-7 and UTF-32 are rejected before they are parsed, so this test uses small
/// ones. Not every version of the parser supports encodings with four bytes per character.
#[test]
fn rare_encodings_do_not_hide_a_document_type() {
    let text = "<?xml version='1.0' encoding='UTF-7'?>+ADwAIQ-DOCTYPE a><a/>";
    assert!(Document::parse(text.as_bytes(), &Limits::default()).is_err());
    for document_type in document_types() {
        let text = format!("{document_type}<a/>");
        for to_bytes in [u32::to_le_bytes, u32::to_be_bytes] {
            let bytes: Vec<u8> = text.chars().flat_map(|c| to_bytes(u32::from(c))).collect();
            let why = refused(&bytes);
            assert!(!why.contains("Markup declaration"), "{why}");
        }
    }
}

#[test]
fn the_fault_for_a_document_type_is_in_the_language_of_the_client() {
    let policy = policy(Options {
        xslt_before: text(stylesheet("")),
        ..verbose()
    });
    let typed = format!("<!DOCTYPE a>{}", &ADD[ADD.find("<soap:").unwrap()..]);
    let fault = policy.request(&soap(&typed)).unwrap_err();
    assert_eq!(fault.status, 500);
    assert!(message(&fault).contains("A message may not have a document type; leave DOCTYPE out"));
    assert!(fault_text(&fault).contains("<faultcode>soap:Client</faultcode>"));
    let fault = policy.response(&soap_response(&typed)).unwrap_err();
    assert!(fault_text(&fault).contains("<faultcode>soap:Server</faultcode>"));
    let json = gatebench_xml::soap::Request {
        content_type: Some("application/json"),
        ..soap(&typed)
    };
    assert_eq!(policy.request(&json).unwrap_err().status, 400);
    let none: [(&str, &str); 0] = [];
    let transform = Transform::compile(&stylesheet(""), none, &NoFiles, Limits::MESSAGES).unwrap();
    let why = transform.apply(typed.as_bytes()).unwrap_err().to_string();
    assert!(why.contains("may not have a document type"), "{why}");
    assert!(policy.request(&soap(ADD)).is_ok());
}

#[test]
fn billion_laughs_are_not_expanded() {
    let mut bomb = String::from("<!DOCTYPE a [<!ENTITY l0 \"ha\">");
    for i in 1..10 {
        bomb.push_str(&format!(
            "<!ENTITY l{i} \"{}\">",
            format!("&l{};", i - 1).repeat(10)
        ));
    }
    for use_it in ["<a>&l9;</a>", "<a b=\"&l9;\"/>"] {
        let why = definition(&format!("{bomb}]>{use_it}")).unwrap_err();
        assert!(
            why.contains("Entities expand to more than is allowed"),
            "{why}"
        );
    }
    // A document grows quadratically if it refers to one long entity many times.
    let long = "x".repeat(50_000);
    let text = format!(
        "<!DOCTYPE a [<!ENTITY l \"{long}\">]><a>{}</a>",
        "&l;".repeat(1_000)
    );
    assert!(definition(&text).unwrap_err().contains("Entities expand"));
    let document =
        definition("<!DOCTYPE a [<!ENTITY e \"five &amp; <b/>\">]><a>&e;&e;</a>").unwrap();
    let mut out = Vec::new();
    document
        .write_canonical(&mut out, &Limits::default())
        .unwrap();
    assert_eq!(out, b"<a>five &amp; <b></b>five &amp; <b></b></a>");
    let loops = "<!DOCTYPE a [<!ENTITY p \"&q;\"><!ENTITY q \"&p;\">]><a>&p;</a>";
    let why = definition(loops).unwrap_err();
    assert!(
        why.contains("loop") || why.contains("Entities expand"),
        "{why}"
    );
    assert!(definition("<!DOCTYPE a [<!ENTITY % p '&#37;p;'> %p; ]><a/>").is_err());
}

#[test]
fn entities_of_both_kinds_are_counted_by_their_own_texts() {
    let blanks = " ".repeat(40_000);
    let general = "<!ENTITY a 'x'>";
    let parameter = format!("<!ENTITY % a '{blanks}'>");
    for both in [
        format!("{general}{parameter}"),
        format!("{parameter}{general}"),
    ] {
        let twice = format!("<!DOCTYPE r [{both}%a;%a;]><r>&a;</r>");
        let why = definition(&twice).unwrap_err();
        assert!(
            why.contains("Entities expand to more than is allowed"),
            "{why}"
        );
        let once = definition(&format!("<!DOCTYPE r [{both}%a;]><r>&a;</r>"));
        assert!(once.is_ok(), "{once:?}");
    }
}

#[test]
fn an_entity_too_large_for_a_single_reference_is_refused() {
    for percent in ["", "% "] {
        let with = |bytes: usize| {
            let text = "x".repeat(bytes);
            definition(&format!("<!DOCTYPE r [<!ENTITY {percent}a '{text}'>]><r/>"))
        };
        assert!(with(64 << 10).is_ok());
        let why = with((64 << 10) + 1).unwrap_err();
        assert!(why.contains("Entities expand to more"), "{why}");
    }
}

#[test]
fn long_entities_that_refer_to_each_other_are_not_followed() {
    // A parser that followed the references would keep a copy of a 6 MiB entity for each of forty
    // levels.
    let long = |name: &str| format!("&{name};").repeat(2 << 20);
    let text = format!(
        "<!DOCTYPE a [<!ENTITY p \"{}\"><!ENTITY q \"{}\">]><a>&p;</a>",
        long("q"),
        long("p")
    );
    let why = definition(&text).unwrap_err();
    assert!(
        why.contains("Entities expand to more than is allowed"),
        "{why}"
    );
}

#[test]
fn nothing_outside_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.txt");
    fs::write(&secret, "<!ENTITY stolen \"SECRET\">").unwrap();
    let secret = secret.to_str().unwrap();
    for location in [
        secret.to_owned(),
        format!("file://{secret}"),
        "http://127.0.0.1:1/x".into(),
    ] {
        for text in [
            format!("<!DOCTYPE a [<!ENTITY e SYSTEM \"{location}\">]><a>&e;</a>"),
            format!("<!DOCTYPE a [<!ENTITY e PUBLIC \"p\" \"{location}\">]><a b=\"&e;\"/>"),
            format!("<!DOCTYPE a [<!ENTITY % e SYSTEM \"{location}\"> %e;]><a>&stolen;</a>"),
            format!(
                "<!DOCTYPE a [<!NOTATION n SYSTEM 'n'><!ENTITY e SYSTEM \"{location}\" NDATA n>]><a/>"
            ),
        ] {
            let why = definition(&text).unwrap_err();
            assert!(why.contains("External entities are not allowed"), "{text}");
            assert!(refused(text.as_bytes()).contains("may not have a document type"));
        }
        // An external subset is not read, so a reference to an entity that it declares is an error
        // or adds no text.
        let text = format!("<!DOCTYPE a SYSTEM \"{location}\"><a/>");
        assert!(definition(&text).is_ok());
        let text = format!("<!DOCTYPE a SYSTEM \"{location}\"><a>&stolen;</a>");
        if let Ok(document) = definition(&text) {
            assert!(!document.root().unwrap().text().contains("SECRET"));
        }
    }
}

#[test]
fn imports_are_held_to_the_limits_of_definitions_too() {
    let names: Vec<String> = (0..300).map(|n| format!("n{n}")).collect();
    let list = names.join("|");
    let typed = |declarations: &str, text: &str| format!("<!DOCTYPE x [{declarations}]>{text}");
    let part = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"urn:n\">\
                <xs:element name=\"b\"/></xs:schema>";
    let main = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\
                <xs:import namespace=\"urn:n\" schemaLocation=\"part.xsd\"/><xs:element name=\"a\"/></xs:schema>";
    let schema = |declarations: &str| {
        let files = HashMap::from([("part.xsd".to_owned(), typed(declarations, part))]);
        Schema::parse(main.as_bytes(), None, &files, &Limits::DEFINITIONS)
    };
    assert!(schema("<!ENTITY e 'f'><!ATTLIST x y (a|b) #IMPLIED>").is_ok());
    let why = schema(&format!("<!ATTLIST x y ({list}) #IMPLIED>")).unwrap_err();
    let why = why.to_string();
    assert!(
        why.contains("part.xsd cannot be imported") && why.contains("more than 256 tokens"),
        "{why}"
    );
    let importing =
        stylesheet("").replace("<xsl:output", "<xsl:import href=\"part.xsl\"/><xsl:output");
    let many: String = (0..1_001).map(|n| format!("<!ENTITY e{n} 'x'>")).collect();
    let imported = typed(&many, &stylesheet(""));
    let files = HashMap::from([("part.xsl".to_owned(), imported)]);
    let why = Stylesheet::parse(importing.as_bytes(), None, &files, &Limits::DEFINITIONS)
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("part.xsl cannot be imported") && why.contains("more than 1000 declarations"),
        "{why}"
    );
}
