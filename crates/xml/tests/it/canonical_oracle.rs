//! Compares canonical XML with the output of `xmllint --c14n`.

use std::path::Path;
use std::process::Command;

use crate::common::generator::Dice;
use gatebench_xml::{Document, Limits};

const DOCUMENTS: u64 = 150;

const DECLARATIONS: [&str; 9] = [
    "",
    "",
    " xmlns=\"\"",
    " xmlns=\"urn:u\"",
    " xmlns='urn:v'",
    " xmlns:p=\"urn:p\"",
    " xmlns:q='urn:q' xmlns:p=\"urn:w\"",
    " xmlns:q=\"urn:w\" xmlns=\"urn:w\"",
    " xmlns:z=\"http://z.test/a?b=c\" xmlns:y='urn:y'",
];

const ATTRIBUTES: [&str; 8] = [
    " a=\"x\"",
    " b='&#9;&#10;&#13; &quot;\"&apos;'",
    " p:c=\"&lt;&gt;&amp;\"",
    " q:d='\u{e9}\u{20ac}\u{1f600}'",
    " p:A=''",
    " xml:lang=\"en\"",
    " xml:space='preserve'",
    " e = '\n\t'",
];

const CONTENTS: [&str; 9] = [
    "text &lt;&gt;&amp; \"'",
    "&#13;\r\n\t",
    "<![CDATA[<&>]]]]>",
    "]]&gt;",
    "<!--c & d < e-->",
    "<?p i & j?>",
    "<?q?>",
    " ",
    "\u{4e2d}\u{6587}",
];

fn element(dice: &mut Dice, depth: usize, out: &mut String) {
    let name = dice.pick(&["e", "p:e", "q:f", "g"]);
    out.push_str(&format!("<{name}{}", dice.pick(&DECLARATIONS)));
    let first = dice.roll(ATTRIBUTES.len());
    for at in 0..dice.roll(5) {
        out.push_str(ATTRIBUTES[(first + at * 3) % ATTRIBUTES.len()]);
    }
    if dice.one_in(6) {
        out.push_str(" />");
        return;
    }
    out.push('>');
    for _ in 0..dice.roll(5) {
        match dice.one_in(2) && depth > 0 {
            true => element(dice, depth - 1, out),
            false => out.push_str(dice.pick(&CONTENTS)),
        }
    }
    out.push_str(&format!("</{name}>"));
}

fn document(dice: &mut Dice) -> String {
    let around = [
        "",
        "<!-- b -->",
        "<?b c?>\n",
        "\n<?d?><!--e-->",
        "<!--\r\n&-->",
    ];
    let mut out = String::from(dice.pick(&["", "<?xml version='1.0'?>\n"]));
    out.push_str(dice.pick(&around));
    out.push_str("<r xmlns:p=\"urn:w\" xmlns:q=\"urn:x\">");
    element(dice, 5, &mut out);
    out.push_str("</r>");
    out.push_str(dice.pick(&around));
    out
}

fn by_xmllint(folder: &Path, text: &str) -> String {
    let file = folder.join("document.xml");
    std::fs::write(&file, text).unwrap();
    let output = Command::new("xmllint")
        .args(["--nonet", "--c14n"])
        .arg(&file)
        .output()
        .expect("xmllint is installed by scripts/install-test-deps");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{text}");
    String::from_utf8(output.stdout).unwrap()
}

fn by_us(text: &str) -> String {
    let document = Document::parse(text.as_bytes(), &Limits::default()).unwrap();
    let mut out = Vec::new();
    document
        .write_canonical(&mut out, &Limits::default())
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_document_has_one_canonical_form() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=DOCUMENTS {
        let text = document(&mut Dice::new(seed + 5_000));
        let theirs = by_xmllint(folder.path(), &text);
        let ours = by_us(&text);
        assert_eq!(ours, theirs, "seed {seed}: {text}");
        assert_eq!(by_us(&ours), ours, "seed {seed}: {text}");
    }
}

/// xmllint does not escape namespace names and therefore writes invalid XML.
#[test]
fn names_of_namespaces_are_escaped_too() {
    assert_eq!(
        by_us("<a xmlns:b='urn:a?b&amp;c'/>"),
        "<a xmlns:b=\"urn:a?b&amp;c\"></a>"
    );
}

#[test]
fn a_relative_name_of_a_namespace_has_no_canonical_form() {
    let document = Document::parse(b"<a xmlns='b'/>", &Limits::default()).unwrap();
    let why = document
        .write_canonical(&mut Vec::new(), &Limits::default())
        .unwrap_err();
    assert!(
        why.to_string()
            .contains("The name of a namespace is relative: b"),
        "{why}"
    );
}

#[test]
fn a_result_is_no_longer_than_a_document() {
    let document = Document::parse(b"<a>&lt;&lt;&lt;</a>", &Limits::default()).unwrap();
    for (document_bytes, fits) in [(19, true), (18, false)] {
        let limits = Limits {
            document_bytes,
            ..Limits::default()
        };
        let mut out = Vec::new();
        let written = document.write_canonical(&mut out, &limits);
        assert_eq!(written.is_ok(), fits, "{written:?}");
        if let Err(why) = written {
            assert_eq!(why.to_string(), "The result has more than 18 bytes");
        }
    }
}
