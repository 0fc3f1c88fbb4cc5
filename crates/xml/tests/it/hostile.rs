//! Tests that malicious input causes a clear error, cannot make the libraries read a file or URL,
//! and does not affect other messages.

use std::fs;

use crate::common::calculator::*;
use gatebench_xml::soap::{Options, SoapPolicy, Source, Target};
use gatebench_xml::{Document, Limits, NoFiles, Schema, Stylesheet, XPath};

fn refused(bytes: &[u8]) -> String {
    Document::parse(bytes, &Limits::default())
        .unwrap_err()
        .to_string()
}

fn assert_unharmed(policy: &SoapPolicy) {
    assert!(policy.request(&soap(ADD)).is_ok());
}

#[test]
fn definitions_read_nothing_external() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("s.xsd"), "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"a\"/></xs:schema>").unwrap();
    fs::write(path("s.xsl"), stylesheet("")).unwrap();
    let limits = Limits::default();

    let including = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:include schemaLocation=\"{}\"/></xs:schema>",
        path("s.xsd")
    );
    let why = Schema::parse(including.as_bytes(), None, &NoFiles, &limits).unwrap_err();
    assert!(
        why.to_string().contains("failed to load external entity"),
        "{why}"
    );
    let entity = format!(
        "<!DOCTYPE a [<!ENTITY e SYSTEM \"{}\">]>{XSD}",
        path("s.xsd")
    );
    assert!(Schema::parse(entity.as_bytes(), None, &NoFiles, &limits).is_err());
    let importing = stylesheet("").replace(
        "<xsl:output",
        &format!("<xsl:import href=\"{}\"/><xsl:output", path("s.xsl")),
    );
    assert!(Stylesheet::parse(importing.as_bytes(), None, &NoFiles, &limits).is_err());

    // The schema that a message names is not loaded.
    let policy = policy(Options {
        soap_schema: text(
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"b\"/></xs:schema>",
        ),
        ..verbose()
    });
    let body = format!(
        "<a xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:noNamespaceSchemaLocation=\"{}\"/>",
        path("s.xsd")
    );
    assert!(message(&policy.request(&soap(&body)).unwrap_err()).contains("1845"));
}

fn transform_fails(templates: &str, body: &str) -> String {
    let policy = policy(Options {
        xslt_before: text(stylesheet(templates)),
        limits: Limits {
            operations: 1_000_000,
            ..Limits::default()
        },
        ..verbose()
    });
    assert_eq!(policy.problems(), []);
    let fault = policy.request(&soap(body)).unwrap_err();
    assert!(
        fault_text(&fault).contains("Request - XSLT transformation failed (before XSD validation)")
    );
    message(&fault).to_owned()
}

#[test]
fn stylesheets_reach_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("in.xml"), "<secret/>").unwrap();
    for location in [
        path("in.xml"),
        format!("file://{}", path("in.xml")),
        "http://127.0.0.1:1/".into(),
    ] {
        let templates = format!(
            "<xsl:template match=\"/\"><r><xsl:copy-of select=\"document('{location}')\"/></r></xsl:template>"
        );
        let why = transform_fails(&templates, ADD);
        assert!(why.contains("denied") || why.contains("failed"), "{why}");
    }
    let out = path("out.xml");
    for element in [
        format!(
            "<exsl:document xmlns:exsl=\"http://exslt.org/common\" href=\"{out}\"><x/></exsl:document>"
        ),
        format!(
            "<xt:document xmlns:xt=\"http://www.jclark.com/xt\" href=\"{out}\"><x/></xt:document>"
        ),
        format!(
            "<saxon:output xmlns:saxon=\"http://icl.com/saxon\" href=\"{out}\"><x/></saxon:output>"
        ),
    ] {
        let prefix = element[1..].split(':').next().unwrap();
        let templates = format!("<xsl:template match=\"/\"><r>{element}</r></xsl:template>");
        let sheet = stylesheet(&templates).replacen(
            "<xsl:stylesheet ",
            &format!(
                "<xsl:stylesheet extension-element-prefixes=\"{prefix}\" xmlns:{prefix}=\"{}\" ",
                element.split('"').nth(1).unwrap()
            ),
            1,
        );
        let policy = policy(Options {
            xslt_before: text(sheet),
            ..verbose()
        });
        let _ = policy.request(&soap(ADD));
        assert!(!folder.path().join("out.xml").exists(), "{element}");
    }
    for function in [
        "exsl:node-set(.)",
        "str:tokenize('a b')",
        "dyn:evaluate('1')",
        "saxon:evaluate('1')",
    ] {
        let prefix = function.split(':').next().unwrap();
        let templates = format!(
            "<xsl:template match=\"/\" xmlns:{prefix}=\"http://exslt.org/{prefix}\"><r><xsl:value-of select=\"{function}\"/></r></xsl:template>"
        );
        let why = transform_fails(&templates, ADD);
        assert!(
            why.contains("Unregistered function") || why.contains("function"),
            "{why}"
        );
    }
}

#[test]
fn endless_stylesheets_end() {
    let again = |with: &str| {
        format!(
            "<xsl:template match=\"/\" name=\"t\"><xsl:param name=\"s\" select=\"'abcdefgh'\"/>{with}</xsl:template>"
        )
    };
    let recursion = again("<a><xsl:call-template name=\"t\"/></a>");
    let why = transform_fails(&recursion, ADD);
    assert!(
        why.contains("infinite template recursion") || why.contains("nested too deeply"),
        "{why}"
    );
    let nested = again(&format!(
        "{}<xsl:call-template name=\"t\"/>{}",
        "<xsl:if test=\"1\">".repeat(150),
        "</xsl:if>".repeat(150)
    ));
    let why = transform_fails(&nested, ADD);
    assert!(
        why.contains("recursion") || why.contains("nested too deeply"),
        "{why}"
    );
    let doubling = again(
        "<xsl:call-template name=\"t\"><xsl:with-param name=\"s\" select=\"concat($s, $s)\"/></xsl:call-template>",
    );
    let is_bounded = |why: &str| why.contains("bytes of memory") || why.contains("ms of CPU time");
    let why = transform_fails(&doubling, ADD);
    assert!(is_bounded(&why), "{why}");
    let copies = "<xsl:template match=\"/\"><r><xsl:for-each select=\"//node()\"><xsl:for-each select=\"//node()\"><xsl:copy-of select=\"/\"/></xsl:for-each></xsl:for-each></r></xsl:template>";
    let wide = ADD.replace("<intA>5</intA>", &"<intA>5</intA>".repeat(300));
    let why = transform_fails(copies, &wide);
    assert!(is_bounded(&why), "{why}");
    let steps = "<xsl:template match=\"/\"><r><xsl:value-of select=\"count(//node()[count(//node()[count(//node()) &gt; 0]) &gt; 0])\"/></r></xsl:template>";
    let why = transform_fails(steps, &wide);
    assert!(why.contains("limit exceeded") || is_bounded(&why), "{why}");
}

#[test]
fn deep_results_fit_small_stacks() {
    // The stack has 2 MiB, the standard library's default for threads.
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let deep = "<xsl:template match=\"/\" name=\"t\"><xsl:param name=\"n\" select=\"2000\"/><a><xsl:if test=\"$n &gt; 0\"><xsl:call-template name=\"t\"><xsl:with-param name=\"n\" select=\"$n - 1\"/></xsl:call-template></xsl:if></a></xsl:template>";
        let policy = policy(Options {
            xslt_before: text(stylesheet(deep)),
            soap_schema: None,
            ..verbose()
        });
        // A result of this depth may be rejected or written, but writing it must not overflow the
        // stack.
        let _ = policy.request(&soap(ADD));
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn xpath_bombs_are_defused() {
    let compile = |text: &str| XPath::compile(text, &[]).unwrap_err().to_string();
    assert!(compile(&"(".repeat(5_000)).contains("nested deeper than 100"));
    assert!(
        compile(&"a[".repeat(5_000)).contains("longer than")
            || compile(&"a[".repeat(2_000)).contains("nested")
    );
    assert!(compile(&format!("1{}", "+1".repeat(10_000))).contains("longer than"));
    assert!(compile("//a[").contains("Invalid"));

    let wide = ADD.replace("<intA>5</intA>", &"<intA>5</intA>".repeat(500));
    let bomb = format!("//node(){}", "[count(//node()) > 0 and //node()]".repeat(5));
    let policy = policy(Options {
        targets: vec![Target {
            xpath: bomb,
            equals: "never".into(),
        }],
        limits: Limits {
            operations: 100_000,
            ..Limits::default()
        },
        ..verbose()
    });
    let fault = policy.request(&soap(&wide)).unwrap_err();
    assert!(fault_text(&fault).contains("Request - XPath routing failed"));
    assert!(
        message(&fault).contains("peration limit exceeded"),
        "{}",
        message(&fault)
    );
    assert_unharmed(&policy);
}

#[test]
fn large_documents_may_hold_any_text() {
    let long = "x".repeat(20_000);
    for text in [
        format!("<a encoding=\"base64\">{long}</a>"),
        format!("<a>encoding=\u{e9}{long}</a>"),
        format!("<a>encoding=\"\u{e9}{long}</a>"),
        format!(
            "<a><!-- a='' --><![CDATA[it's a<b {}]]>{long}</a>",
            "c = 'd', ".repeat(20)
        ),
    ] {
        let parsed = Document::parse(text.as_bytes(), &Limits::default());
        assert!(parsed.is_ok(), "{}: {parsed:?}", &text[..30]);
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        let wide: Vec<u8> = units.flat_map(u16::to_be_bytes).collect();
        assert!(Document::parse(&wide, &Limits::default()).is_ok());
    }
}

#[test]
fn large_deep_and_wide_documents_are_refused() {
    let policy = policy(Options {
        api_schema: text(wsdl()),
        limits: Limits {
            document_bytes: 1 << 20,
            ..Limits::default()
        },
        ..verbose()
    });
    let fault = |body: &str| message(&policy.request(&soap(body)).unwrap_err()).to_owned();
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(fault(&deep).contains("Elements are nested deeper than 200"));
    let attributes: String = (0..20_000).map(|i| format!(" a{i}='>'")).collect();
    assert!(fault(&format!("<a{attributes}/>")).contains("more than 256 attributes"));
    let few: String = (0..300).map(|i| format!(" a{i}=''")).collect();
    assert!(fault(&format!("<a{few}/>")).contains("more than 256 attributes"));
    assert!(
        fault(&format!("<a>{}</a>", "x".repeat(1 << 20)))
            .contains("The document has 1048583 bytes; the limit is 1048576")
    );
    assert_unharmed(&policy);
}

#[test]
fn a_large_document_is_not_read_beyond_a_mistake() {
    // Reading ends at the first tag after the mistake. Otherwise, the mistake at the end would be
    // reported too.
    let nested: String = (0..100)
        .map(|level| {
            let names = (0..200).map(|n| format!(" xmlns:p{level}_{n}='u'"));
            format!("<a{}>", names.collect::<String>())
        })
        .collect();
    let why = refused(format!("<r><b c='<'/>\n{nested}</wrong>").as_bytes());
    assert!(
        why.contains("Line: 1,") && !why.contains("Line: 2,"),
        "{why}"
    );
    // In small documents, all mistakes are reported.
    let why = refused(b"<r><b c='<'/>\n<a></wrong>");
    assert!(
        why.contains("Line: 1,") && why.contains("Line: 2,"),
        "{why}"
    );
}

#[test]
fn bad_characters_and_encodings_are_reported() {
    for bytes in [
        &b"<a>\xff\xfe</a>"[..],
        b"<a>\xc0\x80</a>",
        b"<a>\xed\xa0\x80</a>",
        b"<a>\x00</a>",
        b"<?xml version='1.0' encoding='utf-8'?><a>\xe9</a>",
        b"<?xml version='1.0' encoding='no-such'?><a>\xe9</a>",
        b"\xff\xfe<\x00a\x00/\x00",
        b"<a b='\x01'/>",
        b"<a>&#0;&#xD800;</a>",
        b"<a/><b/>",
        b"<a xmlns:x='u'><y:b/></a",
        b"<",
        b"<!DOCTYPE",
        b"<![CDATA[",
    ] {
        let why = refused(bytes);
        assert!(why.contains("Error code: "), "{why}");
    }
}

#[test]
fn fragments_of_messages_never_crash() {
    let policy = policy(Options {
        xslt_before: text(subtract_to_add()),
        api_schema: text(wsdl()),
        ..verbose()
    });
    let message = subtract();
    // A large document is checked before it is parsed.
    let rest = " ".repeat(20_000);
    for end in 0..message.len() {
        let _ = policy.request(&soap(&message[..end]));
        let _ = policy.request(&soap(&format!("{}{rest}", &message[..end])));
        let _ = policy.request(&soap(&format!("{}\u{20ac}'{rest}", &message[..end])));
    }
    let bytes = message.as_bytes();
    for at in 0..bytes.len() {
        for byte in [0, b'<', b'&', b'"', 0xff] {
            let mut changed = bytes.to_vec();
            changed[at] = byte;
            let _ = policy.request(&gatebench_xml::soap::Request {
                body: &changed,
                ..soap("")
            });
        }
    }
    assert!(policy.request(&soap(&message)).is_ok());
}

#[test]
fn hostile_definitions_become_problems() {
    let nested = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">{}",
        "<xs:sequence>".repeat(10_000)
    );
    let deep_expression = subtract_to_add().replace(
        "local-name()='Subtract'",
        &format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000)),
    );
    let options = Options {
        api_schema: text(nested),
        xslt_before: text(deep_expression),
        xslt_after: Some(Source::At("/etc/passwd".into())),
        soap_schema: text("<!DOCTYPE x [<!ENTITY e SYSTEM \"/etc/passwd\">]><x>&e;</x>"),
        ..verbose()
    };
    let policy = policy(options);
    let names: Vec<_> = policy
        .problems()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        [
            "xslt_transform_before",
            "xslt_transform_after",
            "xsd_soap_schema",
            "xsd_api_schema"
        ]
    );
    assert!(policy.request(&soap(ADD)).is_err());
}
