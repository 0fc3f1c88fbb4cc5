//! Tests that Saxon helpers transform the messages of several clients, that responses arrive in
//! order, and that a message that ends its helper affects no other.

use crate::common::{Client, Server, backends, serve, upstream};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

/// Wraps a string in an envelope; `END` takes longer than allowed, which ends the helper.
const STYLESHEET: &str = r#"<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
<xsl:template match="/">
  <soap:Envelope><soap:Body><text><xsl:value-of select="if (string(.) = 'END') then sum(for $i in 1 to 2000000000 return $i mod 7) else string(.)"/></text></soap:Body></soap:Envelope>
</xsl:template>
</xsl:stylesheet>"#;

/// Starts a gateway in front of an origin that echoes bodies: one route uses Saxon in both
/// directions, the other has no policies.
fn before(backend: Backend) -> (Server<()>, Server<Totals>) {
    let origin = upstream(Kind::GoBench, backend);
    let chain =
        json!({"xslt_transform_before": STYLESHEET, "xslt_library": "saxon", "verbose": true});
    let target = json!({"address": "127.0.0.1", "port": origin.address.port()});
    let routes: Value = json!([
        {"name": "plain", "path": "/plain", "strip_path": true, "upstream": "origin"},
        {"name": "soap", "path": "/", "upstream": "origin", "policies": [
            {"soap": {"request": chain, "response": chain}}]},
    ]);
    let gateway = serve(
        backend,
        &json!({
            "listen": ["127.0.0.1:0"], "workers": 1,
            "upstreams": [{"name": "origin", "keepalive": 4, "targets": [target]}],
            "routes": routes,
        }),
    );
    (origin, gateway)
}

fn post(path: &str, text: &str) -> String {
    post_as("text/xml", path, text)
}

fn post_as(content_type: &str, path: &str, text: &str) -> String {
    let body = format!("<a>{text}</a>");
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn assert_text(client: &mut Client, text: &str) {
    let response = client.response(false);
    let body = String::from_utf8(response.body).unwrap();
    assert_eq!(response.status, 200, "{text}: {body}");
    assert!(body.contains(&format!("<text>{text}</text>")), "{body}");
}

#[test]
fn pipelined_requests_get_responses_in_order() {
    for backend in backends() {
        let (_origin, gateway) = before(backend);
        let mut clients: Vec<_> = (0..20).map(|_| gateway.client()).collect();
        let text = |number: usize, turn: usize| format!("{number}-{turn}");
        for (number, client) in clients.iter_mut().enumerate() {
            let asked: String = (0..5)
                .map(|turn| post("/echo", &text(number, turn)) + &post("/plain/echo", "plain"))
                .collect();
            client.send(asked.as_bytes());
        }
        for (number, client) in clients.iter_mut().enumerate() {
            for turn in 0..5 {
                assert_text(client, &text(number, turn));
                assert_eq!(client.response(false).body, b"<a>plain</a>");
            }
        }
    }
}

#[test]
fn a_message_that_ends_its_helper_affects_no_other() {
    let (_origin, gateway) = before(Backend::Epoll);
    let mut clients: Vec<_> = (0..12).map(|_| gateway.client()).collect();
    let text = |number: usize| match number {
        5 => "END".to_owned(),
        _ => number.to_string(),
    };
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(post("/echo", &text(number)).as_bytes());
    }
    // Some clients disconnect before their response.
    clients.truncate(10);
    for (number, client) in clients.iter_mut().enumerate() {
        if number != 5 {
            assert_text(client, &text(number));
            continue;
        }
        let response = client.response(false);
        let body = String::from_utf8(response.body).unwrap();
        assert_eq!(response.status, 500, "{body}");
        assert!(body.contains("The XSLT engine ended"), "{body}");
        assert!(body.contains("<faultcode>soap:Server<"), "{body}");
    }
    let mut client = gateway.client();
    client.send(post("/echo", "after").as_bytes());
    assert_text(&mut client, "after");
    // A client that sends JSON also gets 500 for such a message, not a client error.
    client.send(post_as("application/json", "/echo", "END").as_bytes());
    let response = client.response(false);
    let body = String::from_utf8(response.body).unwrap();
    assert_eq!(response.status, 500, "{body}");
    assert!(
        body.contains("\"message_verbose\": \"The XSLT engine ended"),
        "{body}"
    );
}
