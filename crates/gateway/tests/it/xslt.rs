//! Tests stylesheets that transform responses, over real sockets.

use crate::common::{Client, Response, Server, backends, scripted, serve, upstream};
use gatebench_gateway::{GatewayConfig, Totals};
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

const SHEET: &str = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="html" media-type="text/html" encoding="UTF-8"/>
<xsl:param name="title"/>
<xsl:template match="/bench"><p><xsl:value-of select="$title"/>: <xsl:value-of select="sum(item/count)"/></p></xsl:template>
<xsl:template match="/deep"><xsl:call-template name="down"/></xsl:template>
<xsl:template name="down"><xsl:call-template name="down"/></xsl:template>
</xsl:stylesheet>"#;

fn config(origin: u16, policies: &Value) -> Value {
    json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 4, "targets": [{"address": "127.0.0.1", "port": origin}]}],
        "routes": [{"name": "all", "path": "/", "upstream": "origin", "policies": policies}],
        "collected_bytes_max": 100_000,
    })
}

fn behind(backend: Backend, policies: &Value) -> (Server<()>, Server<Totals>) {
    let origin = upstream(Kind::GoBench, backend);
    let gateway = serve(backend, &config(origin.address.port(), policies));
    (origin, gateway)
}

fn echo(client: &mut Client, content_type: &str, body: &str) -> Response {
    let length = body.len();
    client.ask(&format!(
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

#[test]
fn xml_responses_are_transformed_by_the_stylesheet() {
    let policies =
        json!([{"response_xslt": {"stylesheet": SHEET, "params": {"title": "a & \"b\""}}}]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        let response = client.get("/xml");
        assert_eq!(
            (response.status, response.field("Content-Type")),
            (200, Some("text/html; charset=UTF-8"))
        );
        assert_eq!(response.body, b"<p>a &amp; \"b\": 8</p>\n");
        client.send(b"HEAD /xml HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = client.response(true);
        assert_eq!((head.status, head.body.len()), (200, 0));
        let text = echo(&mut client, "text/plain", "<bench/>");
        assert_eq!(
            (text.field("Content-Type"), &*text.body),
            (Some("text/plain"), &b"<bench/>"[..])
        );
        let empty = echo(&mut client, "text/xml", "");
        assert_eq!((empty.status, empty.body.len()), (200, 0));
    }
}

#[test]
fn a_failed_transformation_is_an_error_and_the_connection_stays_open() {
    let policies = json!([{"response_xslt": {"stylesheet": SHEET}}]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        for broken in [
            "<bench>",
            "<!DOCTYPE b [<!ENTITY e SYSTEM \"file:///etc/hostname\">]><bench>&e;</bench>",
            "<deep/>",
        ] {
            let refused = echo(&mut client, "application/xml", broken);
            assert_eq!(refused.status, 500, "{broken}");
            let words = String::from_utf8(refused.body).unwrap();
            let reason = words.trim_end().split_once("the upstream's response: ");
            assert!(
                reason.is_some_and(|(_, reason)| !reason.is_empty()),
                "{words}"
            );
        }
        assert_eq!(client.get("/xml").body, b"<p>: 8</p>\n");
        let long = format!("<bench>{}</bench>", " ".repeat(100_000));
        assert_eq!(echo(&mut client, "application/xml", &long).status, 502);
    }
}

#[test]
fn a_stylesheet_in_a_file_imports_its_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let text = format!(
            "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">{content}</xsl:stylesheet>"
        );
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    write(
        "main.xsl",
        "<xsl:import href=\"more.xsl\"/><xsl:output method=\"text\"/>",
    );
    write(
        "more.xsl",
        "<xsl:template match=\"/\">of a file</xsl:template>",
    );
    let policies = json!([{"response_xslt": {"stylesheet": folder.path().join("main.xsl")}}]);
    let (_origin, gateway) = behind(backends()[0], &policies);
    assert_eq!(gateway.client().get("/xml").body, b"of a file");
}

#[test]
fn an_empty_response_in_chunks_is_kept() {
    let origin = scripted(|_, mut peer| {
        while !peer.head().is_empty() {
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        }
    });
    let policies = json!([{"response_xslt": {"stylesheet": SHEET}}]);
    for backend in backends() {
        let gateway = serve(backend, &config(origin.port(), &policies));
        let empty = gateway.client().get("/");
        assert_eq!((empty.status, empty.body.len()), (200, 0));
    }
}

#[test]
fn several_stylesheets_apply_in_order() {
    let shout = SHEET
        .replace("<p>", "<bench><item><count>")
        .replace("</p>", "</count></item></bench>");
    let shout = shout
        .replace("<xsl:value-of select=\"$title\"/>: ", "")
        .replace(
            "method=\"html\" media-type=\"text/html\" encoding=\"UTF-8\"",
            "",
        );
    let policies = json!([
        {"response_xslt": {"stylesheet": shout}},
        {"response_xslt": {"stylesheet": SHEET, "params": {"title": "then"}}},
    ]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        assert_eq!(gateway.client().get("/xml").body, b"<p>then: 8</p>\n");
    }
}

#[test]
fn unusable_stylesheets_are_reported() {
    for (stylesheet, words) in [
        ("<xsl:stylesheet", "the document cannot be used"),
        ("<a/>", "the document cannot be used"),
        ("/nowhere/a.xsl", "/nowhere/a.xsl cannot be read"),
        (&*SHEET.replace("UTF-8", "UTF-16"), "UTF-16"),
    ] {
        let config = config(1, &json!([{"response_xslt": {"stylesheet": stylesheet}}]));
        let errors = GatewayConfig::parse(&config.to_string()).unwrap_err();
        let reported = format!("{:?}", errors.all());
        assert!(reported.contains(words), "{reported}");
    }
}
