//! Compares a gateway's verdicts on requests and responses with those of an independent OpenAPI
//! validator (openapi-core from PyPI), and checks the gateway's messages.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{Client, Response, Server, backends, scripted, serve};
use crate::openapi_cases::{bodies, formats, parameters, shapes};
use gatebench_gateway::{Gateway, GatewayConfig, Totals};
use gatebench_net::Backend;
use serde_json::{Map, Value, json};

/// An origin that takes its response from the request's fields `X-Status`, `X-Type`, `X-Header` and
/// `X-Answer`.
fn obedient() -> SocketAddr {
    scripted(|_, mut peer| {
        loop {
            let head = peer.head();
            if head.is_empty() {
                return;
            }
            let field = |name: &str| crate::common::field(&head, name).map(str::to_owned);
            let length = field("Content-Length").map_or(0, |length| length.parse().unwrap());
            peer.exact(length);
            let status = field("X-Status").unwrap_or_else(|| "200".into());
            let body = field("X-Answer").unwrap_or_default();
            let mut response = format!("HTTP/1.1 {status} X\r\n");
            if let Some(kind) = field("X-Type") {
                response += &format!("Content-Type: {kind}\r\n");
            }
            if let Some(header) = field("X-Header") {
                response += &format!("{header}\r\n");
            }
            if status != "204" {
                response += &format!("Content-Length: {}\r\n", body.len());
            }
            peer.send(format!("{response}\r\n{body}").as_bytes());
        }
    })
}

fn before(backend: Backend, document: &Value, responses: bool) -> Server<Totals> {
    let policy = json!({"openapi": {"document": document.to_string(), "responses": responses}});
    serve(
        backend,
        &json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "origin", "keepalive": 4,
                           "targets": [{"address": "127.0.0.1", "port": obedient().port()}]}],
            "routes": [{"name": "api", "path": "/api", "strip_path": true, "upstream": "origin", "policies": [policy]}],
        }),
    )
}

fn ask(client: &mut Client, case: &Value) -> Response {
    let text = |key: &str| case[key].as_str();
    let query = text("query").map_or(String::new(), |query| format!("?{query}"));
    let mut request = format!(
        "{} /api{}{query} HTTP/1.1\r\nHost: h\r\n",
        text("method").unwrap(),
        text("path").unwrap()
    );
    let mut field = |name: &str, value: &str| request += &format!("{name}: {value}\r\n");
    for (name, value) in case["headers"].as_object().unwrap_or(&Map::new()) {
        field(name, value.as_str().unwrap());
    }
    for (name, value) in case["cookies"].as_object().unwrap_or(&Map::new()) {
        field("Cookie", &format!("{name}={}", value.as_str().unwrap()));
    }
    if let Some(status) = case["status"].as_u64() {
        field("X-Status", &status.to_string());
    }
    for (name, key) in [
        ("X-Type", "answer_type"),
        ("X-Answer", "answer"),
        ("Content-Type", "type"),
    ] {
        if let Some(value) = text(key) {
            field(name, value);
        }
    }
    for (name, value) in case["answer_headers"].as_object().unwrap_or(&Map::new()) {
        field("X-Header", &format!("{name}: {}", value.as_str().unwrap()));
    }
    match text("body") {
        Some(body) => request += &format!("Content-Length: {}\r\n\r\n{body}", body.len()),
        None => request += "\r\n",
    }
    client.ask(&request)
}

/// Returns the folder that contains openapi-core; panics if it is not installed.
fn package() -> PathBuf {
    let data = std::env::var_os("XDG_DATA_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".local/share"),
        PathBuf::from,
    );
    let folder = data.join("gatebench/openapi-core");
    let place = folder.display();
    assert!(
        folder.is_dir(),
        "{place} is missing; run scripts/install-oracle openapi-core openapi_core werkzeug"
    );
    folder
}

/// Returns openapi-core's verdicts on the cases of each document, as one digit per case.
fn oracle(documents: &[(Value, Vec<Value>)]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/openapi_oracle.py");
    let mut child = Command::new("python3")
        .arg(script)
        .env("PYTHONPATH", package())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = documents
        .iter()
        .map(|(document, cases)| json!({"document": document, "cases": cases}).to_string() + "\n")
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let verdicts = String::from_utf8(output.stdout).unwrap();
    verdicts.lines().map(String::from).collect()
}

#[test]
fn verdicts_are_those_of_an_independent_validator() {
    let versions = ["3.0.3", "3.1.0"];
    let documents: Vec<_> = versions
        .into_iter()
        .flat_map(|version| {
            [
                bodies(version, false),
                bodies(version, true),
                formats(version),
                parameters(version),
                shapes(version),
            ]
        })
        .collect();
    let verdicts = oracle(&documents);
    let backend = backends()[0];
    let (mut count, mut allowed, mut differing) = (0, 0, Vec::new());
    for ((document, cases), verdicts) in documents.iter().zip(&verdicts) {
        let gateway = before(backend, document, true);
        let mut client = gateway.client();
        assert_eq!(cases.len(), verdicts.len());
        for (case, verdict) in cases.iter().zip(verdicts.chars()) {
            let response = ask(&mut client, case);
            let words = String::from_utf8_lossy(&response.body);
            let is_ours = words.starts_with("gateway: ");
            count += 1;
            allowed += usize::from(verdict == '1');
            if is_ours == (verdict == '1') {
                differing.push(format!(
                    "{} {case}: {verdict} {} {words}",
                    document["openapi"], response.status
                ));
            }
        }
    }
    assert!(
        count > 3500 && allowed > 1000 && count - allowed > 1000,
        "{allowed} of {count} are allowed"
    );
    assert!(
        differing.is_empty(),
        "{} of {count}:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn refusals_name_the_mistake_and_the_alternatives() {
    let (document, _) = shapes("3.1.0");
    for backend in backends() {
        let gateway = before(backend, &document, true);
        let mut client = gateway.client();
        let wrong = ask(&mut client, &json!({"method": "PUT", "path": "/b"}));
        assert_eq!(
            (wrong.status, wrong.field("Allow")),
            (405, Some("GET, POST"))
        );
        assert_eq!(
            ask(&mut client, &json!({"method": "GET", "path": "/c"})).status,
            404
        );
        let wrong = ask(&mut client, &json!({"method": "GET", "path": "/b/x"}));
        assert_eq!(wrong.status, 400);
        let words = "gateway: the path parameter `id`: \"x\" is not of type \"integer\"\n";
        assert_eq!(String::from_utf8_lossy(&wrong.body), words);
        let wrong = ask(
            &mut client,
            &json!({"method": "POST", "path": "/b", "type": "image/png", "body": "x"}),
        );
        assert_eq!(wrong.status, 415);
        let wrong = ask(
            &mut client,
            &json!({"method": "GET", "path": "/a", "status": 201}),
        );
        assert_eq!(wrong.status, 502);
        assert!(
            String::from_utf8_lossy(&wrong.body).ends_with("it does not define the status 201\n")
        );
        let chunked = "POST /api/b HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n";
        assert_eq!(client.ask(chunked).status, 400);
        assert_eq!(
            ask(&mut client, &json!({"method": "GET", "path": "/b"})).status,
            200
        );
    }
}

#[test]
fn read_only_and_write_only_members_are_required_of_one_side() {
    let properties = json!({
        "id": {"$ref": "#/components/schemas/Id"},
        "secret": {"type": "string", "writeOnly": true},
        "name": {"type": "string"},
    });
    let account =
        json!({"type": "object", "required": ["id", "secret", "name"], "properties": properties});
    let content = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Account"}}});
    let document = |version: &str| {
        json!({
            "openapi": version, "info": {"title": "t", "version": "1"},
            "paths": {"/accounts": {"post": {
                "requestBody": {"required": true, "content": content},
                "responses": {"200": {"description": "d", "content": content}}}}},
            "components": {"schemas": {"Account": account, "Id": {"type": "integer", "readOnly": true}}},
        })
    };
    let (sent, answered) = (r#"{"secret":"s","name":"n"}"#, r#"{"id":1,"name":"n"}"#);
    let all = r#"{"id":1,"secret":"s","name":"n"}"#;
    let backend = backends()[0];
    let status = |gateway: &Server<Totals>, body: &str, response: &str| {
        let case = json!({
            "method": "POST", "path": "/accounts", "type": "application/json", "body": body,
            "status": 200, "answer_type": "application/json", "answer": response,
        });
        ask(&mut gateway.client(), &case).status
    };
    let gateway = before(backend, &document("3.0.3"), true);
    assert_eq!(status(&gateway, sent, answered), 200);
    assert_eq!(status(&gateway, all, all), 200);
    assert_eq!(
        status(&gateway, r#"{"secret":"s"}"#, answered),
        400,
        "a request must contain the name"
    );
    assert_eq!(
        status(&gateway, answered, answered),
        400,
        "a request must contain the secret"
    );
    assert_eq!(
        status(&gateway, sent, sent),
        502,
        "a response must contain the id"
    );
    // In 3.1, `readOnly` and `writeOnly` are annotations without effect, as in JSON Schema.
    let gateway = before(backend, &document("3.1.0"), true);
    assert_eq!(status(&gateway, sent, all), 400);
    assert_eq!(status(&gateway, all, answered), 502);
    assert_eq!(status(&gateway, all, all), 200);
}

#[test]
fn delimited_arrays_may_also_be_repeated_parameters() {
    let schema = json!({"type": "array", "items": {"type": "integer"}, "maxItems": 2});
    let styled = |style: &str| {
        let parameter =
            json!({"name": "a", "in": "query", "style": style, "explode": true, "schema": schema});
        json!({"get": {"parameters": [parameter], "responses": {"default": {"description": "d"}}}})
    };
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/bars": styled("pipeDelimited"), "/blanks": styled("spaceDelimited")},
    });
    let gateway = before(backends()[0], &document, false);
    let mut client = gateway.client();
    for (path, query, status) in [
        ("/bars", "a=1&a=2", 200),
        ("/bars", "a=1&a=x", 400),
        ("/bars", "a=1%7C2", 200),
        ("/bars", "a=1%7C2%7C3", 400),
        ("/blanks", "a=1&a=2", 200),
        ("/blanks", "a=1&a=2&a=3", 400),
        ("/blanks", "a=1%202", 200),
    ] {
        let case = json!({"method": "GET", "path": path, "query": query});
        assert_eq!(ask(&mut client, &case).status, status, "{path} {query}");
    }
}

#[test]
fn unusable_documents_are_reported() {
    let wrong = |document: &str| {
        let config = json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "o", "keepalive": 1, "targets": [{"address": "127.0.0.1", "port": 1}]}],
            "routes": [{"name": "a", "path": "/", "upstream": "o", "policies": [{"openapi": {"document": document}}]}],
        });
        let wrong = GatewayConfig::parse(&config.to_string()).unwrap_err();
        wrong.all()[0].message.clone()
    };
    assert!(wrong("/nowhere/api.yaml").contains("cannot be read"));
    assert!(wrong("{").contains("not JSON"));
    assert!(wrong("openapi: 2.0\npaths: {}\n").contains("neither OpenAPI 3.0 nor 3.1"));
    assert!(wrong("openapi: 3.0.0\npaths: {}\n").contains("no operation"));
    let reference = "openapi: 3.1.0\npaths: {/a: {post: {responses: {}, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/None'}}}}}}}\n";
    assert!(
        wrong(reference).contains("POST /a: the schema cannot be used"),
        "{}",
        wrong(reference)
    );
    let fetched = reference.replace(
        "#/components/schemas/None",
        "http://127.0.0.1:9/schema.json",
    );
    assert!(
        wrong(&fetched).contains("cannot be used")
            || wrong(&fetched).contains("cannot be followed")
    );
    for (item, reference) in [
        ("{$ref: other.yaml}", "other.yaml"),
        (
            "{get: {responses: {200: {$ref: 'common.yaml#/Ok'}}}}",
            "common.yaml#/Ok",
        ),
        (
            "{get: {responses: {200: {headers: {X: {$ref: '#/components/headers/X'}}}}}}",
            "#/components/headers/X",
        ),
        (
            "{get: {responses: {}, parameters: [{$ref: '#/components/parameters/X'}]}}",
            "#/components/parameters/X",
        ),
        (
            "{post: {responses: {}, requestBody: {$ref: '#/components/requestBodies/X'}}}",
            "#/components/requestBodies/X",
        ),
    ] {
        let said = wrong(&format!("openapi: 3.1.0\npaths: {{/a: {item}}}\n"));
        let words = format!("the reference {reference} cannot be followed");
        assert!(said.contains(&words), "{said}");
    }
    let said = wrong("openapi: 3.1.0\npaths: {/a: {$ref: '#/paths/~1a'}}\n");
    assert!(said.contains("references follow one another"), "{said}");
}

#[test]
fn names_such_as_default_and_example_hide_no_schema() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}});
    let response = json!({"description": "d", "content": {"application/json": {"schema": schema}}});
    let reference = json!({"$ref": "#/components/responses/example"});
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "t", "version": "1"},
        "paths": {
            "/named": {"get": {"responses": {"default": response}}},
            "/shared": {"get": {"responses": {"200": reference}}},
        },
        "components": {"responses": {"example": response}},
    });
    let gateway = before(backends()[0], &document, true);
    let mut client = gateway.client();
    for path in ["/named", "/shared"] {
        for (answer, status) in [(r#"{"a":null}"#, 200), (r#"{"a":1}"#, 502)] {
            let case = json!({
                "method": "GET", "path": path, "answer_type": "application/json", "answer": answer,
            });
            assert_eq!(ask(&mut client, &case).status, status, "{path} {answer}");
        }
    }
}

#[test]
fn a_mock_responds_only_to_bodies_that_an_earlier_document_allows() {
    let content = json!({"application/json": {"schema": {"type": "object"}}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"post": {"requestBody": {"content": content}, "responses": {}}}},
    });
    let openapi = json!({"openapi": {"document": document.to_string()}});
    let mock = json!({"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}});
    for backend in backends() {
        for (policies, to_wrong) in [(json!([openapi, mock]), 400), (json!([mock, openapi]), 200)] {
            let gateway = serve(
                backend,
                &json!({
                    "listen": ["127.0.0.1:0"],
                    "routes": [{"name": "a", "path": "/", "policies": policies}],
                }),
            );
            let mut client = gateway.client();
            let head = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n";
            for (body, status) in [("{}", 200), ("[]", to_wrong), ("{}", 200)] {
                let response = client.ask(&format!("{head}Content-Length: 2\r\n\r\n{body}"));
                assert_eq!(response.status, status, "{policies} {body}");
                assert_eq!(response.body == b"Hello", status == 200);
            }
            // The client is asked for the body only if the body is checked.
            client.send(
                format!("{head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n").as_bytes(),
            );
            let is_asked = client.head().starts_with("HTTP/1.1 100 ");
            assert_eq!(is_asked, to_wrong == 400);
        }
    }
}

#[test]
fn paths_of_a_document_are_compared_in_the_form_of_the_route() {
    let operation = json!({"get": {"responses": {}}});
    let mock = json!({"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}});
    let route = |path: &str, paths: &str, templates: &[&str]| {
        let items = templates
            .iter()
            .map(|it| ((*it).to_owned(), operation.clone()));
        let items: Map<String, Value> = items.collect();
        let document =
            json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": items});
        let policies = json!([{"openapi": {"document": document.to_string()}}, mock]);
        json!({"name": path, "path": path, "paths": paths, "strip_path": true, "policies": policies})
    };
    let both = ["/gr%c3%b6%c3%9fe", "/%7Euser"];
    // These are two different paths only on a verbatim route.
    let two = ["/%7Eother", "/~other"];
    let gateway = serve(
        backends()[0],
        &json!({
            "listen": ["127.0.0.1:0"],
            "routes": [
                route("/strict", "strict", &both),
                route("/verbatim", "verbatim", &[both, two].concat()),
            ],
        }),
    );
    let mut client = gateway.client();
    for (path, strict, verbatim) in [
        ("/gr%c3%b6%c3%9fe", 200, 200),
        ("/gr%C3%B6%C3%9Fe", 200, 404),
        ("/%7Euser", 200, 200),
        ("/~user", 200, 404),
    ] {
        let found = ["/strict", "/verbatim"].map(|it| client.get(&format!("{it}{path}")).status);
        assert_eq!(found, [strict, verbatim], "{path}");
    }
}

#[test]
fn edits_of_json_leave_a_checked_form_unchanged() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let content = json!({"application/x-www-form-urlencoded": {"schema": schema}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"post": {"requestBody": {"content": content}, "responses": {}}}},
    });
    let policies = json!([
        {"openapi": {"document": document.to_string()}},
        {"request_json": {"add": {"/b": 1}}},
    ]);
    let target = json!({"address": "127.0.0.1", "port": obedient().port()});
    let gateway = serve(
        backends()[0],
        &json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "origin", "keepalive": 4, "targets": [target]}],
            "routes": [{"name": "a", "path": "/", "upstream": "origin", "policies": policies}],
        }),
    );
    for (body, status) in [("a=1", 200), ("a=x", 400)] {
        let head = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\n";
        let response = gateway.client().ask(&format!("{head}{body}"));
        assert_eq!(response.status, status, "{body}");
    }
}

#[test]
fn yaml_documents_are_read_from_files() {
    let path = std::env::temp_dir().join(format!("gatebench-openapi-{}.yaml", std::process::id()));
    std::fs::write(
        &path,
        "openapi: 3.0.0\npaths:\n  /a:\n    get: {responses: {200: {description: d}}}\n",
    )
    .unwrap();
    let config = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "o", "keepalive": 1, "targets": [{"address": "127.0.0.1", "port": 1}]}],
        "routes": [{"name": "a", "path": "/", "upstream": "o", "policies": [{"openapi": {"document": path}}]}],
    });
    let config = GatewayConfig::parse(&config.to_string()).unwrap();
    assert!(Gateway::new(&config).is_ok());
    std::fs::remove_file(&path).unwrap();
}
