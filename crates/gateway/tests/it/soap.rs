//! Tests SOAP/XML over real sockets: the scenarios' own cases, faults compared byte by byte, and
//! valid requests next to invalid ones.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::common::{Client, Response, Server, backends, field, scripted, serve, upstream};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use gatebench_gateway::{Gateway, GatewayConfig, Totals};
use gatebench_model::soap::SoapChain;
use gatebench_model::{Body, Check, Policy, Request, Scenario, UpstreamKind};
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

const XML: &str = "text/xml; charset=utf-8";

fn scenario(name: &str) -> Scenario {
    let file = format!("../../scenarios/published/soap/{name}.yaml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    gatebench_config::read(&path).unwrap()
}

/// Returns the gateway's configuration for a scenario, with the ports of its origin and of its
/// other upstreams.
fn config(scenario: &Scenario, origin: u16, more: &[(&String, u16)]) -> Value {
    let upstream = |name: &str, port: u16| json!({"name": name, "keepalive": 4, "targets": [{"address": "127.0.0.1", "port": port}]});
    let more = more.iter().map(|(name, port)| upstream(name, *port));
    let upstreams: Vec<Value> = std::iter::once(upstream("origin", origin))
        .chain(more)
        .collect();
    let mut routes = serde_json::to_value(&scenario.routes).unwrap();
    for route in routes.as_array_mut().unwrap() {
        route["upstream"] = json!("origin");
    }
    json!({
        "listen": ["127.0.0.1:0"],
        "workers": 2,
        "upstreams": upstreams,
        "consumers": [{"name": "alice", "keys": ["alice-key"]}],
        "routes": routes,
    })
}

fn before(backend: Backend, scenario: &Scenario) -> (Vec<Server<()>>, Server<Totals>) {
    let start = |kind: UpstreamKind| upstream(Kind::from_name(kind.as_str()).unwrap(), backend);
    let mut origins = vec![start(scenario.upstream)];
    origins.extend(scenario.more_upstreams.values().map(|kind| start(*kind)));
    let ports = origins[1..].iter().map(|origin| origin.address.port());
    let more: Vec<_> = scenario.more_upstreams.keys().zip(ports).collect();
    let gateway = serve(backend, &config(scenario, origins[0].address.port(), &more));
    (origins, gateway)
}

fn send(client: &mut Client, request: &Request) -> Response {
    let fields: String = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let body = request.body.as_ref().unwrap().text().unwrap();
    client.ask(&format!(
        "{} {} HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        request.method,
        request.path,
        body.len()
    ))
}

fn assert_right(name: &str, response: &Response, checks: &[Check]) {
    let body = String::from_utf8_lossy(&response.body);
    for check in checks {
        match check {
            Check::Status(status) => assert_eq!(response.status, *status, "{name}: {body}"),
            Check::Header(wanted) => {
                assert_eq!(
                    response.field(&wanted.name),
                    Some(&*wanted.equals),
                    "{name}"
                );
            }
            Check::BodyEquals(wanted) => assert_eq!(body, *wanted, "{name}"),
            Check::BodyContains(part) => assert!(body.contains(part), "{name}: {body}"),
            Check::Json(wanted) => {
                let json: Value = serde_json::from_str(&body).unwrap();
                assert_eq!(json.pointer(&wanted.path), Some(&wanted.equals), "{name}");
            }
            other => panic!("{name}: this test cannot check {other:?}"),
        }
    }
}

#[test]
fn every_case_of_the_scenarios_holds() {
    for backend in backends() {
        for number in 0..=10 {
            let scenario = scenario(&format!("soap-{number}"));
            let (_origins, gateway) = before(backend, &scenario);
            let mut client = gateway.client();
            for request in &scenario.requests {
                let response = send(&mut client, request);
                assert_right(&scenario.scenario, &response, &request.checks);
            }
            for case in &scenario.parity {
                let response = send(&mut client, &case.request);
                let name = format!("{}: {}", scenario.scenario, case.name);
                assert_right(&name, &response, &case.request.checks);
            }
        }
    }
}

/// The request is not one of the scenario's cases, because the scenario is derived from published
/// plug-ins, which do not escape JSON when they insert it into XML.
#[test]
fn markup_in_json_is_text() {
    let scenario = scenario("soap-9");
    let (_origins, gateway) = before(Backend::Epoll, &scenario);
    let body = br#"{"operation":"Add","note":"a < b & c > d ]]>","intA":1,"intB":2}"#;
    let mut request = scenario.requests[0].clone();
    request.body = Some(Body::new(body));
    let response = send(&mut gateway.client(), &request);
    assert_eq!(response.status, 200);
    assert_eq!(response.body, br#"{"result":3}"#);
}

#[test]
fn a_mock_responds_only_to_messages_that_an_earlier_chain_allows() {
    let soap = json!({"soap": {"request": {}}});
    let mock = json!({"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}});
    let envelope =
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/></s:Envelope>";
    for backend in backends() {
        for (policies, to_broken) in [(json!([soap, mock]), false), (json!([mock, soap]), true)] {
            let gateway = serve(
                backend,
                &json!({
                    "listen": ["127.0.0.1:0"],
                    "routes": [{"name": "a", "path": "/", "policies": policies}],
                }),
            );
            let mut client = gateway.client();
            for (body, is_mocked) in [(envelope, true), ("<broken", to_broken), (envelope, true)] {
                let length = body.len();
                let response = client.ask(&format!(
                    "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: {XML}\r\nContent-Length: {length}\r\n\r\n{body}"
                ));
                assert_eq!(response.body == b"Hello", is_mocked, "{policies} {body}");
            }
        }
    }
}

#[test]
fn policies_after_a_mock_have_no_effect_on_soap_clients() {
    let api_key = json!({"api_key": {"header": "X-Api-Key"}});
    let mock = json!({"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}});
    let soap = json!({"soap": {"request": {}}});
    let (_origin, gateway) = behind(json!([api_key, mock, soap]));
    let refused = post(&mut gateway.client(), "Content-Type: text/xml\r\n", b"<a/>");
    assert_eq!(
        (refused.status, refused.field("Content-Type")),
        (401, Some("text/plain"))
    );
    let size = json!({"request_size_limit": {"max_bytes": 10}});
    let (_origin, gateway) = behind(json!([soap, mock, size]));
    let envelope =
        b"<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/></s:Envelope>";
    let fields = "Content-Type: text/xml\r\nContent-Encoding: gzip\r\n";
    let mocked = post(&mut gateway.client(), fields, &packed(envelope));
    assert_eq!(
        (mocked.status, mocked.body.as_slice()),
        (200, &b"Hello"[..])
    );
}

#[test]
fn errors_of_some_requests_never_reach_others() {
    for name in ["soap-1-errors", "soap-3-errors"] {
        let scenario = scenario(name);
        let (_origins, gateway) = before(Backend::Epoll, &scenario);
        thread::scope(|scope| {
            for turn in 0..8 {
                let group = &scenario.groups[turn % 2];
                let mut client = gateway.client();
                scope.spawn(move || {
                    for _ in 0..100 {
                        let response = send(&mut client, &group.requests[0]);
                        assert_right(&group.name, &response, &group.requests[0].checks);
                    }
                });
            }
        });
    }
}

#[test]
fn curl_gets_exactly_the_expected_fault() {
    let scenario = scenario("soap-3-errors");
    let (_origins, gateway) = before(Backend::Epoll, &scenario);
    let request = &scenario.groups[1].requests[0];
    let output = Command::new("curl")
        .args(["--silent", "--write-out", "\n%{http_code} %{content_type}"])
        .args(["--header", "Content-Type: text/xml; charset=utf-8"])
        .args([
            "--data-binary",
            request.body.as_ref().unwrap().text().unwrap(),
        ])
        .arg(format!("http://{}{}", gateway.address, request.path))
        .output()
        .unwrap();
    let fault = request.checks.iter().find_map(|check| match check {
        Check::BodyEquals(text) => Some(text),
        _ => None,
    });
    let expected = format!("{}\n500 {XML}", fault.unwrap());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

/// Starts a gateway that has a route with these policies in front of an origin.
fn behind(policies: Value) -> (Server<()>, Server<Totals>) {
    let origin = upstream(Kind::GoBench, Backend::Epoll);
    let mut config = config(&scenario("soap-0"), origin.address.port(), &[]);
    config["routes"] = json!([
        {"name": "all", "path": "/", "upstream": "origin", "policies": policies}
    ]);
    let gateway = serve(Backend::Epoll, &config);
    (origin, gateway)
}

fn post(client: &mut Client, fields: &str, body: &[u8]) -> Response {
    let length = body.len();
    let head =
        format!("POST /echo HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n");
    client.send(&[head.as_bytes(), body].concat());
    client.response(false)
}

#[test]
fn soap_clients_get_refusals_as_faults() {
    let (_origin, gateway) = behind(json!([
        {"api_key": {"header": "X-Api-Key"}},
        {"soap": {"request": {"verbose": true}}}
    ]));
    let mut client = gateway.client();
    let refused = post(&mut client, "Content-Type: text/xml\r\n", b"<a/>");
    assert_eq!(
        (refused.status, refused.field("Content-Type")),
        (401, Some(XML))
    );
    assert!(refused.field("WWW-Authenticate").is_some());
    let text = String::from_utf8(refused.body).unwrap();
    assert!(
        text.contains("<faultstring>Unauthorized</faultstring>"),
        "{text}"
    );
    assert!(text.contains("HTTP Error code is 401"), "{text}");
    let soap12 = post(
        &mut client,
        "Content-Type: application/soap+xml\r\n",
        b"<a/>",
    );
    assert!(
        String::from_utf8(soap12.body)
            .unwrap()
            .contains("env:Sender")
    );
    let json = post(&mut client, "Content-Type: application/json\r\n", b"{}");
    assert_eq!(
        (json.status, json.field("Content-Type")),
        (401, Some("text/plain"))
    );
}

#[test]
fn every_refusal_of_a_soap_client_keeps_its_status_and_is_a_fault() {
    let hanging = scripted(|_, mut peer| while !peer.head().is_empty() {});
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let origin = upstream(Kind::GoBench, Backend::Epoll);
    let mut config = config(&scenario("soap-0"), origin.address.port(), &[]);
    let upstream = |name: &str, port: u16| json!({"name": name, "keepalive": 0, "targets": [{"address": "127.0.0.1", "port": port}]});
    config["upstreams"] = json!([
        upstream("origin", origin.address.port()),
        upstream("hanging", hanging.port()),
        upstream("nobody", nobody.port()),
    ]);
    let route = |name: &str, upstream: &str, policy: Value| {
        json!({"name": name, "path": format!("/{name}"), "upstream": upstream,
        "timeouts": {"upstream_ms": 100}, "policies": [policy, {"soap": {"response": {"verbose": true}}}]})
    };
    let none = json!({"request_headers": {}});
    config["routes"] = json!([
        route("401", "origin", json!({"basic_auth": {}})),
        route(
            "413",
            "origin",
            json!({"request_size_limit": {"max_bytes": 1}})
        ),
        route(
            "429",
            "origin",
            json!({"rate_limit": {"limit": 1, "window": "1h"}})
        ),
        route("502", "nobody", none.clone()),
        route(
            "503",
            "origin",
            json!({"redis_rate_limit": {
            "limit": 1, "window": "1h", "redis": format!("127.0.0.1:{}", nobody.port()), "without_redis": "refuse"}})
        ),
        route("504", "hanging", none),
    ]);
    let gateway = serve(Backend::Epoll, &config);
    let asked = |status: u16, content_type: &str| {
        let body = "<a/>";
        gateway.client().ask(&format!(
            "POST /{status} HTTP/1.1\r\nHost: h\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    // This request uses up the limit.
    asked(429, "text/xml");
    for (status, phrase, whose) in [
        (401, "Unauthorized", ["Client", "Sender"]),
        (413, "Content Too Large", ["Client", "Sender"]),
        (429, "Too Many Requests", ["Client", "Sender"]),
        (502, "Bad Gateway", ["Server", "Receiver"]),
        (503, "Service Unavailable", ["Server", "Receiver"]),
        (504, "Gateway Timeout", ["Server", "Receiver"]),
    ] {
        let details = format!("HTTP Error code is {status}");
        let response = asked(status, "text/xml");
        assert_eq!(
            (response.status, response.field("Content-Type")),
            (status, Some(XML))
        );
        let expected = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
             <soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">\n  <soap:Body>\n    <soap:Fault>\n      \
             <faultcode>soap:{}</faultcode>\n      <faultstring>{phrase}</faultstring>\n      <detail>\n        \
             <errorMessage>{details}</errorMessage>\n      </detail>\n    </soap:Fault>\n  </soap:Body>\n</soap:Envelope>",
            whose[0]
        );
        assert_eq!(String::from_utf8(response.body).unwrap(), expected);
        let response = asked(status, "application/soap+xml");
        let message = String::from_utf8(response.body).unwrap();
        assert_eq!(response.status, status, "{message}");
        let text = format!("<env:Text xml:lang=\"en\">{phrase}</env:Text>");
        let value = format!("<env:Value>env:{}</env:Value>", whose[1]);
        assert!(
            message.contains(&text) && message.contains(&value) && message.contains(&details),
            "{message}"
        );
        let response = asked(status, "application/json");
        assert_eq!(
            (response.status, response.field("Content-Type")),
            (status, Some("text/plain"))
        );
        assert!(response.body.starts_with(b"gateway: "));
    }
}

#[test]
fn a_json_client_gets_its_own_fault_in_json() {
    let (_origin, gateway) = behind(json!([{"soap": {"request": {}}}]));
    let mut client = gateway.client();
    let response = post(&mut client, "Content-Type: application/json\r\n", b"{}");
    assert_eq!(
        (response.status, response.field("Content-Type")),
        (400, Some("application/json"))
    );
    let message: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(
        message,
        json!({"message": "Request - XSD validation failed"})
    );
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn gzip_is_unpacked_and_packed_again_in_both_directions() {
    let origin = scripted(|_, mut client| {
        let head = client.head();
        let body = client.exact(field(&head, "Content-Length").unwrap().parse().unwrap());
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        client.send(&[head.as_bytes(), &body].concat());
    });
    let mut scenario = scenario("soap-4");
    let request = &scenario.requests[0];
    let body = packed(request.body.as_ref().unwrap().bytes());
    if let Policy::Soap(soap) = &mut scenario.routes[0].policies[0] {
        soap.response = Some(SoapChain::default());
    }
    scenario.routes[0].path = "/".into();
    let gateway = serve(Backend::Epoll, &config(&scenario, origin.port(), &[]));
    let fields = "Content-Type: text/xml\r\nContent-Encoding: gzip\r\n";
    let response = post(&mut gateway.client(), fields, &body);
    assert_eq!(
        (response.status, response.field("Content-Encoding")),
        (200, Some("gzip"))
    );
    let add = "<Add xmlns=\"http://tempuri.org/\"><intA>5</intA><intB>7</intB></Add>";
    let message = unpacked(&response.body);
    assert!(message.contains(add), "{message}");
}

#[test]
fn processed_responses_are_requested_in_gzip_only() {
    let origin = scripted(|_, mut client| {
        let head = client.head();
        let asked = field(&head, "Accept-Encoding").unwrap_or("nothing");
        let response = format!("HTTP/1.1 204 X\r\nX-Asked: {asked}\r\nConnection: close\r\n\r\n");
        client.send(response.as_bytes());
    });
    let routes = json!([
        {"name": "all", "path": "/", "upstream": "origin", "policies": [{"soap": {"response": {}}}]},
        {"name": "plain", "path": "/plain", "upstream": "origin"},
    ]);
    let mut config = config(&scenario("soap-0"), origin.port(), &[]);
    config["routes"] = routes;
    let gateway = serve(Backend::Epoll, &config);
    for (path, takes, asked) in [
        ("/", "deflate, gzip, br, zstd", "gzip"),
        ("/", "br", "nothing"),
        ("/", "gzip;q=0, br", "nothing"),
        ("/plain", "br", "br"),
    ] {
        let response = gateway.client().ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: {takes}\r\n\r\n"
        ));
        assert_eq!(
            (response.status, response.field("X-Asked")),
            (204, Some(asked)),
            "{takes}"
        );
    }
}

#[test]
fn a_repeated_soap_action_is_refused() {
    let scenario = scenario("soap-2");
    let (_origins, gateway) = before(Backend::Epoll, &scenario);
    let mut request = scenario.requests[0].clone();
    let action = "http://tempuri.org/Add".to_owned();
    request
        .headers
        .retain(|name, _| !name.eq_ignore_ascii_case("SOAPAction"));
    let asked = |actions: &[&str]| {
        let mut client = gateway.client();
        let fields: String = request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let actions: String = actions
            .iter()
            .map(|one| format!("SOAPAction: {one}\r\n"))
            .collect();
        let body = request.body.as_ref().unwrap().text().unwrap();
        client.ask(&format!(
            "{} {} HTTP/1.1\r\nHost: h\r\n{fields}{actions}Content-Length: {}\r\n\r\n{body}",
            request.method,
            request.path,
            body.len()
        ))
    };
    assert_eq!(asked(&[&action]).status, 200);
    for two in [
        [&*action, "urn:other"],
        ["urn:other", &action],
        [&action, &action],
    ] {
        let response = asked(&two);
        let body = String::from_utf8_lossy(&response.body);
        assert!(
            response.status == 500 && body.contains("XSD validation failed"),
            "{two:?}: {body}"
        );
    }
}

#[test]
fn a_check_reports_invalid_definitions_but_the_gateway_starts() {
    let scenario = scenario("soap-1-errors");
    let config = GatewayConfig::parse(&config(&scenario, 1, &[]).to_string()).unwrap();
    assert!(Gateway::new(&config).is_ok());
    let problems = Gateway::check(&config).unwrap_err().0.into_iter();
    let places: Vec<_> = problems.map(|problem| problem.at).collect();
    assert_eq!(places, ["/routes/1/policies/0/soap/request/xsd_api_schema"]);
}

#[test]
fn invalid_settings_are_reported_at_once() {
    let mut config = config(&scenario("soap-0"), 1, &[]);
    config["routes"][0]["policies"] = json!([
        {"soap": {"request": {
            "cache_ttl": "0s",
            "route_xpath_targets": [{"xpath": "//a", "condition": "b", "path": "/c", "upstream": "none"}]
        }}},
        {"soap": {}},
        {"response_json": {"remove": ["/a"]}}
    ]);
    let errors = GatewayConfig::parse(&config.to_string()).unwrap_err();
    assert_eq!(errors.all().len(), 3, "{:?}", errors.all());
}
