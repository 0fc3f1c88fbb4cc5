//! Compares results with those of `xsltproc`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::generator::Dice;
use gatebench_xml::{Document, Limits, NoFiles, Parameters, Stylesheet};

const STYLESHEETS: u64 = 35;
const DOCUMENTS: usize = 6;

/// Templates that are added to an identity transformation.
const TEMPLATES: [&str; 14] = [
    r#"<xsl:template match="t:*[@*]"><xsl:element name="w:{local-name()}" namespace="urn:w"><xsl:apply-templates select="node()|@*"/></xsl:element></xsl:template>"#,
    r#"<xsl:template match="i:shared"><none><xsl:copy-of select="@*"/><xsl:apply-templates/></none></xsl:template>"#,
    r#"<xsl:template match="comment()"/>"#,
    r#"<xsl:template match="processing-instruction()"><xsl:comment>was <xsl:value-of select="name()"/></xsl:comment></xsl:template>"#,
    r#"<xsl:template match="@*[. = 'x']"><xsl:attribute name="n-{name(..)}" namespace="urn:n"><xsl:value-of select="concat(., '-', position())"/></xsl:attribute></xsl:template>"#,
    r#"<xsl:template match="*[count(*) &gt; 2]"><sorted xmlns="urn:s"><xsl:for-each select="*"><xsl:sort select="name()" order="descending"/><xsl:sort select="." data-type="number"/><xsl:copy-of select="."/></xsl:for-each></sorted></xsl:template>"#,
    r#"<xsl:template match="text()[normalize-space()]"><xsl:value-of select="translate(., 'abc&amp;', 'ABC+')"/></xsl:template>"#,
    r#"<xsl:key name="k" match="*" use="local-name()"/><xsl:template match="*[local-name() = 'e1']"><c n="{count(key('k', 'e1'))}"><xsl:number level="any"/></c></xsl:template>"#,
    r#"<xsl:template match="*[starts-with(local-name(), 'e2')]"><xsl:choose><xsl:when test=". = 'true'"><yes/></xsl:when><xsl:when test="number(.) = number(.)"><n><xsl:value-of select="format-number(., '#,##0.00')"/></n></xsl:when><xsl:otherwise><xsl:copy-of select="."/></xsl:otherwise></xsl:choose></xsl:template>"#,
    r#"<xsl:template name="down"><xsl:param name="n"/><xsl:if test="$n &gt; 0"><d n="{$n}"><xsl:call-template name="down"><xsl:with-param name="n" select="$n - 1"/></xsl:call-template></d></xsl:if></xsl:template><xsl:template match="*[local-name() = 'e0']"><xsl:call-template name="down"><xsl:with-param name="n" select="string-length(.)"/></xsl:call-template></xsl:template>"#,
    r#"<xsl:variable name="all" select="count(//node())"/><xsl:template match="t:e10"><e10 xmlns="" all="{$all}"><xsl:apply-templates mode="m"/></e10></xsl:template><xsl:template match="node()" mode="m"><xsl:value-of select="generate-id() = generate-id(.)"/></xsl:template>"#,
    r#"<xsl:attribute-set name="s"><xsl:attribute name="set">1</xsl:attribute></xsl:attribute-set><xsl:template match="t:root/*[1]"><xsl:copy use-attribute-sets="s"><xsl:apply-templates select="@*|node()"/></xsl:copy></xsl:template>"#,
    r#"<xsl:template match="*[not(node())]"><xsl:processing-instruction name="empty"><xsl:value-of select="name()"/></xsl:processing-instruction><xsl:text disable-output-escaping="no">&lt;</xsl:text></xsl:template>"#,
    r#"<xsl:strip-space elements="*"/><xsl:preserve-space elements="t:e11"/><xsl:template match="t:e11"><xsl:value-of select="$given"/></xsl:template>"#,
];

fn stylesheet(dice: &mut Dice) -> String {
    let mut out = String::from(
        r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:t="urn:t" xmlns:i="urn:i" exclude-result-prefixes="t i">
<xsl:output method="xml" encoding="utf-8"/><xsl:param name="given" select="'default'"/>
<xsl:template match="/"><out><xsl:apply-templates/></out></xsl:template>
<xsl:template match="node()|@*" priority="-9"><xsl:copy><xsl:apply-templates select="node()|@*"/></xsl:copy></xsl:template>
"#,
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

#[test]
fn results_are_those_of_xsltproc() {
    let limits = Limits::default();
    let given = "it's";
    let parameters = Parameters::new([("given", given)]).unwrap();
    for seed in 1..=STYLESHEETS {
        let mut dice = Dice::new(seed + 1_000);
        let text = stylesheet(&mut dice);
        let schema = crate::common::generator::Schema::new(&mut dice);
        let documents: Vec<Vec<u8>> = (0..DOCUMENTS).map(|_| schema.document(&mut dice)).collect();
        let folder = tempfile::tempdir().unwrap();
        let theirs = xsltproc(folder.path(), &text, given, &documents);
        let style = Stylesheet::parse(text.as_bytes(), None, &NoFiles, &limits)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        for (index, (bytes, theirs)) in std::iter::zip(&documents, theirs).enumerate() {
            let mut document = Document::parse(bytes, &limits).unwrap();
            let result = style.apply(&mut document, &parameters, &limits).unwrap();
            let parsed = Document::parse(&theirs, &limits).unwrap();
            let shown = String::from_utf8_lossy(bytes);
            assert_eq!(
                canonical(&result),
                canonical(&parsed),
                "seed {seed}, document {index}\n{text}\n{shown}"
            );
            // The stylesheet's own serialization equals that of xsltproc, byte for byte.
            let mut ours = Vec::new();
            style.write(&result, &mut ours, &limits).unwrap();
            assert_eq!(
                String::from_utf8_lossy(&ours),
                String::from_utf8_lossy(&theirs),
                "seed {seed}, document {index}"
            );
        }
    }
}

fn canonical(document: &Document) -> String {
    let mut out = Vec::new();
    document
        .write_canonical(&mut out, &Limits::default())
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn xsltproc(folder: &Path, stylesheet: &str, given: &str, documents: &[Vec<u8>]) -> Vec<Vec<u8>> {
    fs::write(folder.join("style.xsl"), stylesheet).unwrap();
    let run = |bytes: &Vec<u8>| {
        fs::write(folder.join("in.xml"), bytes).unwrap();
        let mut command = Command::new("xsltproc");
        command
            .current_dir(folder)
            .args(["--nonet", "--novalid", "--stringparam", "given", given]);
        let output = command.args(["style.xsl", "in.xml"]).output();
        let output = output.expect("xsltproc is installed by scripts/install-test-deps");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    };
    documents.iter().map(run).collect()
}
