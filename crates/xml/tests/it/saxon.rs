//! Tests XSLT 3.0 transformations in helper processes. Results must equal those of SaxonC's Python
//! interface, and other messages must still be transformed after a message has ended its helper.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::generator::Dice;
use gatebench_xml::Limits;
use gatebench_xml::saxon::{Bounds, Engine, Order, Saxon, SaxonStylesheet, Unmade, next_response};

const STYLESHEETS: u64 = 30;
const DOCUMENTS: usize = 7;

const TEMPLATES: [&str; 10] = [
    r#"<xsl:template match="*[count(*) gt 2]"><xsl:copy><xsl:for-each-group select="*" group-by="local-name()"><group name="{current-grouping-key()}" n="{count(current-group())}"><xsl:copy-of select="current-group()[1]"/></group></xsl:for-each-group></xsl:copy></xsl:template>"#,
    r#"<xsl:template match="text()[normalize-space()]"><xsl:analyze-string select="." regex="[0-9]+"><xsl:matching-substring><n>{.}</n></xsl:matching-substring><xsl:non-matching-substring>{upper-case(.)}</xsl:non-matching-substring></xsl:analyze-string></xsl:template>"#,
    r#"<xsl:template match="comment()">{string-join(tokenize(., '\s+'), '|')}</xsl:template>"#,
    r#"<xsl:function name="f:deep" as="xs:integer"><xsl:param name="n" as="node()"/><xsl:sequence select="1 + max((0, $n/*/f:deep(.)))"/></xsl:function><xsl:template match="t:root"><deep d="{f:deep(.)}"><xsl:apply-templates/></deep></xsl:template>"#,
    r#"<xsl:template match="@*[. = 'x']"><xsl:attribute name="n-{local-name(..)}" select="., position()"/></xsl:template>"#,
    r#"<xsl:template match="*[not(node())]"><xsl:variable name="m" select="map { 'name': local-name(), 'in': array { ancestor::*/local-name() } }"/><json>{serialize($m, map { 'method': 'json' })}</json></xsl:template>"#,
    r#"<xsl:template match="*[local-name() = 'e1']"><xsl:try><v>{xs:date(string(.))}</v><xsl:catch errors="*"><bad>{$given}</bad></xsl:catch></xsl:try></xsl:template>"#,
    r#"<xsl:template match="*[local-name() = 'e2']"><xsl:iterate select="node()"><xsl:param name="sum" select="0"/><xsl:on-completion><sum>{$sum}</sum></xsl:on-completion><xsl:next-iteration><xsl:with-param name="sum" select="$sum + string-length(.)"/></xsl:next-iteration></xsl:iterate></xsl:template>"#,
    r#"<xsl:key name="k" match="*" use="local-name()"/><xsl:template match="*[local-name() = 'e3']"><c n="{count(key('k', 'e3'))}"><xsl:number level="any"/></c></xsl:template>"#,
    r#"<xsl:template match="processing-instruction()"><xsl:copy-of select="json-to-xml('{&quot;a&quot;: [1, null, &quot;&amp;lt;&quot;]}')"/></xsl:template>"#,
];

fn stylesheet(dice: &mut Dice) -> String {
    let mut out = String::from(
        r##"<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:f="urn:f" xmlns:t="urn:t" exclude-result-prefixes="#all" expand-text="yes">
<xsl:output method="xml" encoding="utf-8"/><xsl:param name="given" select="'default'"/>
<xsl:mode on-no-match="shallow-copy"/>
"##,
    );
    for template in TEMPLATES {
        if dice.one_in(3) {
            out.push_str(template);
            out.push('\n');
        }
    }
    out.push_str("</xsl:stylesheet>");
    out
}

fn package() -> PathBuf {
    let data = std::env::var_os("XDG_DATA_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".local/share"),
        PathBuf::from,
    );
    let folder = data.join("gatebench/saxonche");
    assert!(
        folder.is_dir(),
        "{} is missing; run make saxon",
        folder.display()
    );
    folder
}

fn saxon(bounds: Bounds, count: usize) -> Arc<Saxon> {
    Saxon::start(package(), bounds, count).unwrap()
}

fn compiled(saxon: &Arc<Saxon>, templates: &str) -> SaxonStylesheet {
    let text = format!(
        r#"<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" expand-text="yes">{templates}</xsl:stylesheet>"#
    );
    saxon.compile(text.as_bytes(), &[]).unwrap()
}

#[test]
fn results_are_those_of_saxons_own_interface() {
    let saxon = saxon(Bounds::default(), 2);
    let folder = tempfile::tempdir().unwrap();
    let mut cases = Vec::new();
    for seed in 1..=STYLESHEETS {
        let mut dice = Dice::new(seed + 2_000);
        let text = stylesheet(&mut dice);
        let schema = crate::common::generator::Schema::new(&mut dice);
        fs::write(folder.path().join(format!("{seed:02}.xsl")), &text).unwrap();
        for number in 0..DOCUMENTS {
            let document = schema.document(&mut dice);
            let path = folder.path().join(format!("{seed:02}-{number}.xml"));
            fs::write(&path, &document).unwrap();
            cases.push((text.clone(), document, path.with_extension("out")));
        }
    }
    let oracle = Command::new("python3")
        .args(["-E", "-s", "-c", include_str!("saxon_oracle.py")])
        .args([package().as_path(), folder.path()])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&oracle.stderr);
    assert!(oracle.status.success(), "{errors}");
    let given = [("given".to_owned(), "it's <x>".to_owned())];
    for (text, document, theirs) in cases {
        let style = saxon.compile(text.as_bytes(), &given).unwrap();
        let ours = style.apply(&document, &Limits::default()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&ours),
            fs::read_to_string(theirs).unwrap(),
            "{text}\n{}",
            String::from_utf8_lossy(&document)
        );
    }
}

#[test]
fn stylesheets_that_read_write_or_loop_are_refused() {
    let saxon = saxon(Bounds::default(), 1);
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "<secret/>").unwrap();
    let path = secret.path().display();
    let error = |templates: &str| {
        let text = format!(
            r#"<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:run="java:java.lang.Runtime">{templates}</xsl:stylesheet>"#
        );
        let applied = saxon
            .compile(text.as_bytes(), &[])
            .map_err(Unmade::from)
            .and_then(|style| style.apply(b"<a/>", &Limits::default()));
        applied.unwrap_err().to_string()
    };
    let prohibited = "prohibited";
    for (select, why) in [
        (format!("doc('file://{path}')"), prohibited),
        (format!("document('{path}')"), prohibited),
        (format!("unparsed-text('file://{path}')"), prohibited),
        (format!("collection('file://{path}')"), "disallowed"),
        ("run:getRuntime()".to_owned(), "disabled"),
    ] {
        let said = error(&format!(
            r#"<xsl:template match="/"><xsl:copy-of select="{select}"/></xsl:template>"#
        ));
        assert!(said.contains(why), "{select}: {said}");
    }
    let writing = error(
        r#"<xsl:template match="/"><xsl:result-document href="/tmp/gatebench-written"/></xsl:template>"#,
    );
    assert!(writing.contains("disabled"), "{writing}");
    let importing = error(&format!(r#"<xsl:import href="file://{path}"/>"#));
    assert!(importing.contains(prohibited), "{importing}");
    let looping = error(
        r#"<xsl:template match="/" name="r"><x><xsl:call-template name="r"/></x></xsl:template>"#,
    );
    assert!(looping.contains("Too many nested"), "{looping}");
}

#[test]
fn inputs_that_are_not_documents_are_reported() {
    let saxon = saxon(Bounds::default(), 1);
    let style = compiled(&saxon, r#"<xsl:mode on-no-match="shallow-copy"/>"#);
    let limits = Limits::default();
    for input in ["", "no markup", "<a>", "<a></b>", "<a>\u{1}</a>"] {
        assert!(style.apply(input.as_bytes(), &limits).is_err(), "{input}");
    }
    let bomb = b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/hostname'>]><a>&b;</a>";
    let said = style.apply(bomb, &limits).unwrap_err().to_string();
    assert!(said.contains("may not have a document type"), "{said}");
    let json = style.apply(b"{\"a\": \"<&]]>\"}", &limits).unwrap();
    assert!(
        String::from_utf8(json)
            .unwrap()
            .contains("<json>{\"a\": \"&lt;&amp;]]&gt;\"}</json>")
    );
}

#[test]
fn a_helper_that_is_ended_costs_one_message() {
    let bounds = Bounds {
        time: Duration::from_millis(500),
        memory_bytes: 512 << 20,
    };
    let saxon = saxon(bounds, 1);
    let good = compiled(
        &saxon,
        r#"<xsl:template match="/"><b>{count(//*)}</b></xsl:template>"#,
    );
    let endless = compiled(
        &saxon,
        r#"<xsl:template match="/">{sum(for $i in 1 to 2000000000 return $i mod 7)}</xsl:template>"#,
    );
    let greedy = compiled(
        &saxon,
        r#"<xsl:template match="/">{string-length(string-join(for $i in 1 to 1000000000 return string($i)))}</xsl:template>"#,
    );
    let limits = Limits::default();
    for bad in [&endless, &greedy] {
        let said = bad.apply(b"<a/>", &limits).unwrap_err().to_string();
        assert!(said.starts_with("The XSLT engine ended"), "{said}");
        // A new helper compiles the same stylesheets as the previous one.
        let began = Instant::now();
        let result = loop {
            match good.apply(b"<a><c/></a>", &limits) {
                Ok(result) => break result,
                Err(_) if began.elapsed() < Duration::from_secs(60) => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(why) => panic!("{why}"),
            }
        };
        assert!(String::from_utf8(result).unwrap().ends_with("<b>2</b>"));
    }
}

#[test]
fn helpers_serve_threads_at_once_and_forget_dropped_stylesheets() {
    let saxon = saxon(Bounds::default(), 2);
    thread::scope(|scope| {
        for thread in 0..4 {
            let saxon = &saxon;
            scope.spawn(move || {
                for round in 0..20 {
                    let name = format!("n{thread}-{round}");
                    let style = compiled(
                        saxon,
                        &format!(
                            r#"<xsl:template match="/"><{name}>{{.}}</{name}></xsl:template>"#
                        ),
                    );
                    let result = style.apply(b"<a>x</a>", &Limits::default()).unwrap();
                    let result = String::from_utf8(result).unwrap();
                    assert!(result.ends_with(&format!("<{name}>x</{name}>")), "{result}");
                }
            });
        }
    });
}

/// Sends all orders without waiting for results, and returns the results that arrive until the
/// helper ends or has sent all of them.
fn responses(engine: &Engine, orders: &[Order]) -> Vec<String> {
    let mut line = UnixStream::connect(engine.address()).unwrap();
    let bytes: Vec<&[u8]> = orders.iter().map(|order| order.bytes.as_slice()).collect();
    let bytes = bytes.concat();
    // Send the orders in two pieces, the first of which ends in the middle of an order.
    let (first, second) = bytes.split_at(bytes.len() / 3);
    line.write_all(first).unwrap();
    line.write_all(second).unwrap();
    let (mut said, mut responses) = (Vec::new(), Vec::new());
    while responses.len() < orders.len() {
        let mut piece = [0; 100];
        match line.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => said.extend_from_slice(&piece[..count]),
        }
        let mut rest = said.as_slice();
        while let Some(made) = next_response(&mut rest) {
            responses.push(String::from_utf8(made.unwrap()).unwrap());
        }
        let left = rest.len();
        said.drain(..said.len() - left);
    }
    responses
}

#[test]
fn lines_get_replies_in_order_and_state_what_ended_a_helper() {
    let bounds = Bounds {
        time: Duration::from_millis(500),
        ..Bounds::default()
    };
    let saxon = saxon(bounds, 2);
    let good = compiled(
        &saxon,
        r#"<xsl:template match="/"><b>{.}</b></xsl:template>"#,
    );
    let endless = compiled(
        &saxon,
        r#"<xsl:template match="/">{sum(for $i in 1 to 2000000000 return $i mod 7)}</xsl:template>"#,
    );
    let order = |style: &SaxonStylesheet, number: usize| {
        let text = format!("<a>{number}</a>");
        style.order(text.as_bytes(), &Limits::default()).unwrap()
    };
    let engine = saxon.engine(0).unwrap();
    let all: Vec<_> = (0..100).map(|number| order(&good, number)).collect();
    for (number, response) in responses(&engine, &all).iter().enumerate() {
        assert!(
            response.ends_with(&format!("<b>{number}</b>")),
            "{response}"
        );
    }
    assert_eq!(engine.at_hand(), None);
    let bad = [&good, &good, &endless, &good].map(|style| order(style, 1));
    assert!(responses(&engine, &bad).len() < 3);
    assert_eq!(engine.at_hand(), Some(bad[2].number));
    saxon.lost(&engine);
    let other = saxon.engine(0).unwrap();
    assert_ne!(other.address(), engine.address());
    assert_eq!(responses(&other, &bad[3..]).len(), 1);
}
