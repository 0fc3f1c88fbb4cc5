//! Tests malicious messages and definitions over real sockets, most of them on a route that
//! transforms, validates and routes requests. Invalid messages must get a clear fault or refusal,
//! no external resource may be read, and the next client must be served normally.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::common::{Client, Response, Server, scripted, serve, upstream};
use flate2::Compression;
use flate2::write::GzEncoder;
use gatebench_gateway::{Gateway, GatewayConfig, Totals};
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

const XML: &str = "Content-Type: text/xml\r\n";
const GOOD: &str = "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>\
<Subtract xmlns=\"http://tempuri.org/\"><intA>5</intA><intB>7</intB></Subtract></soap:Body></soap:Envelope>";

fn definition(name: &str) -> String {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/published/soap/definitions/"
    );
    fs::read_to_string(format!("{folder}{name}")).unwrap()
}

/// A request chain that transforms, validates and routes.
fn chain() -> Value {
    json!({
        "xslt_transform_before": definition("subtract-to-add.xslt"),
        "xsd_api_schema": definition("calculator.wsdl"),
        "route_xpath_targets": [{"xpath": "//*[local-name()='intA']", "condition": "0", "path": "/elsewhere"}],
        "verbose": true,
    })
}

fn config(origin: u16, request: &Value) -> Value {
    json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 4, "targets": [{"address": "127.0.0.1", "port": origin}]}],
        "routes": [{"name": "all", "path": "/", "upstream": "origin",
                    "policies": [{"soap": {"request": request}}]}],
        "timeouts": {"client_idle_ms": 400},
    })
}

fn behind(request: &Value) -> (Server<()>, Server<Totals>) {
    let origin = upstream(Kind::GoBench, Backend::Epoll);
    let gateway = serve(Backend::Epoll, &config(origin.address.port(), request));
    (origin, gateway)
}

fn post(client: &mut Client, fields: &str, body: &[u8]) -> Response {
    let length = body.len();
    let head =
        format!("POST /echo HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n");
    client.send(&[head.as_bytes(), body].concat());
    client.response(false)
}

/// Returns the fault for an XML body; also checks that the next client is served.
fn fault(gateway: &Server<Totals>, fields: &str, body: &[u8]) -> String {
    let response = post(&mut gateway.client(), fields, body);
    let text = String::from_utf8(response.body).unwrap();
    assert_eq!(response.status, 500, "{text}");
    assert!(text.contains("<faultstring>Request - "), "{text}");
    neighbor_is_well(gateway);
    text
}

fn neighbor_is_well(gateway: &Server<Totals>) {
    let response = post(&mut gateway.client(), XML, GOOD.as_bytes());
    let body = String::from_utf8_lossy(&response.body);
    assert!(response.status == 200 && body.contains("<Add "), "{body}");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn malicious_bodies_get_faults() {
    let (_origin, gateway) = behind(&chain());
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "SECRET").unwrap();
    let secret = secret.display();
    let mut laughs = String::from("<!DOCTYPE a [<!ENTITY l0 \"ha\">");
    for level in 1..10 {
        let ten = format!("&l{};", level - 1).repeat(10);
        laughs.push_str(&format!("<!ENTITY l{level} \"{ten}\">"));
    }
    let deep = format!("{}{}", "<a>".repeat(50_000), "</a>".repeat(50_000));
    let attributes: String = (0..20_000).map(|n| format!(" a{n}=''")).collect();
    let names: String = (0..100_000).map(|n| format!("n{n}|")).collect();
    let no_type = "A message may not have a document type";
    let bodies: [(Vec<u8>, &str); 13] = [
        (format!("{laughs}]><a>&l9;</a>").into(), no_type),
        (
            format!("<!DOCTYPE a [<!ENTITY e SYSTEM \"{secret}\">]><a>&e;</a>").into(),
            no_type,
        ),
        (
            format!("<!DOCTYPE a [<!ENTITY % e SYSTEM \"file://{secret}\"> %e;]><a/>").into(),
            no_type,
        ),
        (
            format!("<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/a.dtd\">{GOOD}").into(),
            no_type,
        ),
        (
            format!("<!DOCTYPE a [<!ATTLIST a b ({names}z) #IMPLIED>]><a/>").into(),
            no_type,
        ),
        (deep.into(), "Elements are nested deeper than 200"),
        (
            format!("<a{attributes}/>").into(),
            "more than 256 attributes",
        ),
        (
            format!("<a b='{}'/>", "x".repeat((1 << 20) - 64)).into(),
            "Error code",
        ),
        (b"<a>\xff\xfe</a>".to_vec(), "not proper UTF-8"),
        (
            b"<?xml version='1.0' encoding='UTF-8'?><a>\xe9</a>".to_vec(),
            "not proper UTF-8",
        ),
        (
            b"<?xml version='1.0' encoding='none-such'?><a>\xe9</a>".to_vec(),
            "Error code",
        ),
        (b"\xff\xfe<\0a\0>\0".to_vec(), "Error code"),
        (b"\0\0\0\0".to_vec(), "Error code"),
    ];
    for (body, expected) in bodies {
        let message = fault(&gateway, XML, &body);
        assert!(
            message.contains(expected) && !message.contains("SECRET"),
            "{message}"
        );
    }
    // If Content-Type and the document specify different encodings, that of the document applies.
    let latin = GOOD.replace('5', "\u{e9}").replacen(
        "<soap",
        "<?xml version='1.0' encoding='ISO-8859-1'?><soap",
        1,
    );
    let latin: Vec<u8> = latin
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let message = fault(
        &gateway,
        "Content-Type: text/xml; charset=utf-8\r\n",
        &latin,
    );
    assert!(message.contains("XSD validation failed"), "{message}");
}

#[test]
fn other_clients_are_served_during_an_expensive_message() {
    let mut request = chain();
    // The WSDL is left out, because it does not define the operation in the transformed body.
    request["xsd_api_schema"] = Value::Null;
    let (_origin, gateway) = behind(&request);
    for count in [60, 250] {
        let namespaces: String = (0..count)
            .map(|n| format!(" xmlns:p{n}='urn:{n}'"))
            .collect();
        let worst = GOOD
            .replace("Subtract>", "Other>")
            .replace("<Subtract", &format!("<Other{namespaces}"))
            .replace("<intA>5</intA>", &"<i/>".repeat(45_000));
        let length = worst.len();
        let mut client = gateway.client();
        let head =
            format!("POST /echo HTTP/1.1\r\nHost: h\r\n{XML}Content-Length: {length}\r\n\r\n");
        client.send(&[head.as_bytes(), worst.as_bytes()].concat());
        let began = Instant::now();
        neighbor_is_well(&gateway);
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(3), "{count}: {waited:?}");
        let status = client.response(false).status;
        assert!(matches!(status, 200 | 500), "{count}: {status}");
    }
}

#[test]
fn gzip_bombs_are_not_unpacked() {
    let (_origin, gateway) = behind(&chain());
    let fields = format!("{XML}Content-Encoding: gzip\r\n");
    let bomb = packed(&vec![b' '; 64 << 20]);
    let message = fault(&gateway, &fields, &bomb);
    assert!(
        message.contains("it unpacks to more than 1048576 bytes"),
        "{message}"
    );
    for broken in [
        &bomb[..bomb.len() / 2],
        b"no gzip",
        &packed(&packed(GOOD.as_bytes())),
    ] {
        fault(&gateway, &fields, broken);
    }
    let message = fault(
        &gateway,
        &format!("{XML}Content-Encoding: br\r\n"),
        GOOD.as_bytes(),
    );
    assert!(message.contains("'br' is not supported"), "{message}");
}

/// An envelope of about this size that does not exceed the limit on the number of elements.
fn large(bytes: usize) -> Vec<u8> {
    let item = format!("<i>{}</i>", "x".repeat(1_000));
    GOOD.replace("<intA>5</intA>", &item.repeat(bytes / item.len()))
        .into_bytes()
}

/// Starts a gateway that only checks envelopes, with these top-level settings and this policy
/// before the check.
fn envelopes_only(settings: Value, policy: Value) -> (Server<()>, Server<Totals>) {
    let origin = upstream(Kind::GoBench, Backend::Epoll);
    let mut config = config(origin.address.port(), &json!({"verbose": true}));
    config["routes"][0]["policies"]
        .as_array_mut()
        .unwrap()
        .insert(0, policy);
    for (name, value) in settings.as_object().unwrap() {
        config[name] = value.clone();
    }
    (origin, serve(Backend::Epoll, &config))
}

#[test]
fn the_limit_of_bodies_holds_for_unpacked_bodies() {
    let fields = format!("{XML}Content-Encoding: gzip\r\n");
    // For each limit, sends a message that fits, and one that is too large but small on the wire.
    let edits = json!({"request_headers": {}});
    let limit = json!({"request_size_limit": {"max_bytes": 100_000}});
    for (settings, policy, fits, bytes_max) in [
        (json!({}), &edits, 900_000, 1 << 20),
        (json!({}), &limit, 90_000, 100_000),
        (
            json!({"collected_bytes_max": 300_000}),
            &edits,
            250_000,
            300_000,
        ),
        (
            json!({"collected_bytes_max": 300_000}),
            &limit,
            90_000,
            100_000,
        ),
        // This limit on messages is higher than the limit on definitions.
        (
            json!({"collected_bytes_max": 20 << 20}),
            &edits,
            18 << 20,
            20 << 20,
        ),
    ] {
        let (_origin, gateway) = envelopes_only(settings.clone(), policy.clone());
        // The message is created before the client connects, because its creation can take seconds
        // and idle connections are closed.
        let whole = packed(&large(fits));
        let response = post(&mut gateway.client(), &fields, &whole);
        assert_eq!(response.status, 200, "{settings} {policy}");
        let bomb = packed(&large(bytes_max * 2));
        assert!(bomb.len() < 90_000 || bytes_max > 1 << 20, "{}", bomb.len());
        let response = post(&mut gateway.client(), &fields, &bomb);
        let message = String::from_utf8(response.body).unwrap();
        let words = format!("it unpacks to more than {bytes_max} bytes");
        assert_eq!(response.status, 500, "{message}");
        assert!(
            message.contains("<faultcode>soap:Client<") && message.contains(&words),
            "{message}"
        );
    }
}

#[test]
fn json_clients_get_errors_in_json_and_bombs_in_responses_are_refused() {
    let bomb = packed(&vec![b' '; 64 << 20]);
    let (_origin, gateway) = envelopes_only(json!({}), json!({"request_headers": {}}));
    let fields = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let response = post(&mut gateway.client(), fields, &bomb);
    let message: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(
        (response.status, &message["message"]),
        (400, &json!("Request - General process failed"))
    );
    let origin = scripted(move |_, mut peer| {
        let length = bomb.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
        );
        while !peer.head().is_empty() {
            peer.send(&[head.as_bytes(), &bomb].concat());
        }
    });
    let mut config = config(origin.port(), &json!({}));
    config["routes"][0]["policies"] = json!([{"soap": {"response": {"verbose": true}}}]);
    let gateway = serve(Backend::Epoll, &config);
    let response = gateway.client().get("/");
    let message = String::from_utf8(response.body).unwrap();
    assert_eq!(response.status, 500, "{message}");
    for words in [
        "Response - General process failed",
        "soap:Server",
        "more than 1048576 bytes",
    ] {
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn huge_and_slow_bodies_are_refused() {
    let (_origin, gateway) = behind(&chain());
    let mut client = gateway.client();
    client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/xml\r\nContent-Length: 104857600\r\n\r\n");
    assert_eq!(
        client.response(false).status,
        413,
        "the response is sent before the body arrives"
    );
    neighbor_is_well(&gateway);
    let mut client = gateway.client();
    client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(b"200000\r\n");
    client.send(&vec![b' '; 2 << 20]);
    assert_eq!(client.response(false).status, 413);
    neighbor_is_well(&gateway);
    let mut client = gateway.client();
    client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/xml\r\nContent-Length: 100\r\n\r\n<a>");
    assert_eq!(client.response(false).status, 408);
    neighbor_is_well(&gateway);
}

#[test]
fn malicious_stylesheets_and_expressions_end() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.xml");
    fs::write(&secret, "<secret>SECRET</secret>").unwrap();
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    web.set_nonblocking(true).unwrap();
    let port = web.local_addr().unwrap().port();
    let template = |inside: &str| {
        format!(
            "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">\
             <xsl:template match=\"/\" name=\"t\"><r>{inside}</r></xsl:template></xsl:stylesheet>"
        )
    };
    let document =
        |location: &str| template(&format!("<xsl:copy-of select=\"document('{location}')\"/>"));
    let sheets = [
        template("<xsl:call-template name=\"t\"/>"),
        document(&secret.display().to_string()),
        document(&format!("http://127.0.0.1:{port}/x.xml")),
        template("<xsl:value-of select=\"e:evaluate('1')\" xmlns:e=\"http://exslt.org/dynamic\"/>"),
    ];
    for sheet in sheets {
        let (_origin, gateway) = behind(&json!({"xslt_transform_before": sheet, "verbose": true}));
        let response = post(&mut gateway.client(), XML, GOOD.as_bytes());
        let message = String::from_utf8(response.body).unwrap();
        assert!(
            response.status == 500 && !message.contains("SECRET"),
            "{message}"
        );
        assert!(
            message.contains("XSLT transformation failed (before XSD validation)"),
            "{message}"
        );
    }
    let bomb = format!("//node(){}", "[count(//node()) > 0 and //node()]".repeat(9));
    let (_origin, gateway) = behind(&json!({
        "route_xpath_targets": [{"xpath": bomb, "condition": "never", "path": "/x"}],
        "verbose": true,
    }));
    let wide = GOOD.replace("<intA>5</intA>", &"<intA>5</intA>".repeat(1_000));
    let response = post(&mut gateway.client(), XML, wide.as_bytes());
    let message = String::from_utf8(response.body).unwrap();
    assert!(
        response.status == 500 && message.contains("XPath routing failed"),
        "{message}"
    );
    assert!(
        web.accept().is_err(),
        "something was requested over the network"
    );
}

#[test]
fn definitions_read_no_entities_and_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "SECRET").unwrap();
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    web.set_nonblocking(true).unwrap();
    let url = format!(
        "http://127.0.0.1:{}/x.xsd",
        web.local_addr().unwrap().port()
    );
    let entity = format!("<!DOCTYPE a [<!ENTITY e SYSTEM \"{}\">]>", secret.display());
    let with_entity = |name: &str| definition(name).replacen("?>", &format!("?>{entity}"), 1);
    let imports = definition("calculator.xsd").replacen(
        "xs:element",
        &format!("xs:import namespace=\"urn:x\" schemaLocation=\"{url}\"/><xs:element"),
        1,
    );
    for (option, text) in [
        ("xsd_api_schema", with_entity("calculator.wsdl")),
        ("xslt_transform_before", with_entity("subtract-to-add.xslt")),
        ("xsd_soap_schema", with_entity("calculator.xsd")),
        ("xsd_api_schema", imports),
    ] {
        let mut request = chain();
        request[option] = json!(text);
        let config = GatewayConfig::parse(&config(1, &request).to_string()).unwrap();
        assert!(Gateway::new(&config).is_ok());
        let problems = Gateway::check(&config).err();
        let problems = problems.map_or(Vec::new(), |wrong| wrong.0);
        let reported: Vec<String> = problems.iter().map(|one| format!("{one:?}")).collect();
        // If a schema's import cannot be loaded, the schema is used without it, as in libxml2.
        let is_reported = reported.iter().any(|one| one.contains(option));
        assert!(is_reported || text.contains(&url), "{option}: {reported:?}");
        assert!(!reported.concat().contains("SECRET"), "{reported:?}");
    }
    assert!(
        web.accept().is_err(),
        "something was requested over the network"
    );
}
