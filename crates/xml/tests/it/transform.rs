//! Tests stylesheets: their parameters, the types of their results, and their errors.

use gatebench_xml::{
    Document, Limits, NoFiles, Parameters, Stylesheet, Transform, TransformError, Transformed,
};

const ORDER: &[u8] = b"<order><item>a &amp; b</item><item>c</item></order>";

fn sheet(output: &str, body: &str) -> String {
    format!(
        "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">{output}\
         <xsl:param name=\"shop\">nobody</xsl:param><xsl:template match=\"/\">{body}</xsl:template>\
         </xsl:stylesheet>"
    )
}

fn applied(output: &str, body: &str, message: &[u8]) -> Result<Transformed, TransformError> {
    let compiled = Transform::compile(
        &sheet(output, body),
        [("shop", "me & 'you'")],
        &NoFiles,
        Limits::MESSAGES,
    );
    compiled.unwrap().apply(message)
}

#[test]
fn a_result_has_the_type_that_its_stylesheet_states() {
    let text = "<xsl:output method=\"text\" media-type=\"text/plain\" encoding=\"utf-8\"/>";
    let made = applied(text, "<xsl:value-of select=\"$shop\"/>", ORDER).unwrap();
    let (media_type, charset) = (Some("text/plain".into()), Some("utf-8".into()));
    let body = b"me & 'you'".to_vec();
    assert_eq!(
        made,
        Transformed {
            body,
            media_type,
            charset
        }
    );
    let made = applied("", "<a><xsl:value-of select=\"//item\"/></a>", ORDER).unwrap();
    assert_eq!((&made.media_type, &made.charset), (&None, &None));
    assert_eq!(made.body, b"<?xml version=\"1.0\"?>\n<a>a &amp; b</a>\n");
    let made = applied("", "<html><br/></html>", ORDER).unwrap();
    assert_eq!(made.media_type.as_deref(), Some("text/html"));
}

#[test]
fn the_type_that_a_stylesheet_sets_holds_for_the_next_ones() {
    let none: [(&str, &str); 0] = [];
    let compile = |output: &str, body: &str| {
        Transform::compile(&sheet(output, body), none, &NoFiles, Limits::MESSAGES).unwrap()
    };
    let first = "<xsl:output media-type=\"text/a\" encoding=\"utf-8\"/>";
    let all = [
        compile(first, "<a><xsl:value-of select=\"//item[2]\"/></a>"),
        compile(
            "<xsl:output method=\"text\"/>",
            "<xsl:value-of select=\"a\"/>!",
        ),
    ];
    let made = Transform::apply_all(&all, ORDER).unwrap();
    assert_eq!(made.body, b"c!");
    assert_eq!(
        (made.media_type.as_deref(), made.charset.as_deref()),
        (Some("text/a"), Some("utf-8"))
    );
    // The second stylesheet gets only the result of the first.
    let all = [
        compile("", "<b><xsl:value-of select=\"//item[2]\"/></b>"),
        compile(
            "<xsl:output method=\"text\"/>",
            "<xsl:value-of select=\"a\"/>",
        ),
    ];
    assert!(Transform::apply_all(&all, ORDER).is_err());
}

#[test]
fn a_failed_transformation_states_the_reason() {
    let broken = applied("", "<a/>", b"<order><item></order>")
        .unwrap_err()
        .to_string();
    assert!(
        broken.contains("Opening and ending tag mismatch"),
        "{broken}"
    );
    let nothing = applied("<xsl:output method=\"text\"/>", "", ORDER)
        .unwrap_err()
        .to_string();
    assert!(nothing.contains("produces no output"), "{nothing}");
    let stop = "<xsl:message terminate=\"yes\">no</xsl:message>";
    assert!(applied("", stop, ORDER).is_err());
}

#[test]
fn invalid_stylesheets_and_other_encodings_are_refused() {
    let none: [(&str, &str); 0] = [];
    let broken = Transform::compile("<xsl:stylesheet", none, &NoFiles, Limits::MESSAGES);
    assert!(broken.is_err());
    let latin = sheet("<xsl:output encoding=\"ISO-8859-1\"/>", "<a/>");
    let why = Transform::compile(&latin, none, &NoFiles, Limits::MESSAGES)
        .unwrap_err()
        .to_string();
    assert!(why.contains("ISO-8859-1") && why.contains("UTF-8"), "{why}");
}

#[test]
fn an_empty_list_of_parameters_ends_at_once() {
    let text = b"<a xsl:version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'/>";
    let limits = Limits::default();
    let style = Stylesheet::parse(text, None, &NoFiles, &limits).unwrap();
    let mut input = Document::parse(b"<b/>", &limits).unwrap();
    let made = style.apply(&mut input, &Parameters::default(), &limits);
    assert!(made.is_ok());
}
