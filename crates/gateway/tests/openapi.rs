//! OpenAPI: what a gateway lets through, against what an independent validator (openapi-core, of PyPI) allows,
//! and what it says of the rest.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Answer, Client, Server, backends, scripted, serve};
use gatebench_gateway::{Gateway, GatewayConfig, Totals};
use gatebench_net::Backend;
use serde_json::{Map, Value, json};

/// An origin that answers with what the request's fields ask for: X-Status, X-Type, X-Header and X-Answer.
fn obedient() -> SocketAddr {
    scripted(|_, mut peer| {
        loop {
            let head = peer.head();
            if head.is_empty() {
                return;
            }
            let field = |name: &str| common::field(&head, name).map(str::to_owned);
            let length = field("Content-Length").map_or(0, |length| length.parse().unwrap());
            peer.exact(length);
            let status = field("X-Status").unwrap_or_else(|| "200".into());
            let body = field("X-Answer").unwrap_or_default();
            let mut answer = format!("HTTP/1.1 {status} X\r\n");
            if let Some(kind) = field("X-Type") {
                answer += &format!("Content-Type: {kind}\r\n");
            }
            if let Some(header) = field("X-Header") {
                answer += &format!("{header}\r\n");
            }
            if status != "204" {
                answer += &format!("Content-Length: {}\r\n", body.len());
            }
            peer.send(format!("{answer}\r\n{body}").as_bytes());
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

/// Asks what a case says.
fn ask(client: &mut Client, case: &Value) -> Answer {
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

fn schemas(version: &str) -> Vec<Value> {
    let mut schemas = vec![
        json!({"type": "string"}),
        json!({"type": "string", "minLength": 2, "maxLength": 3}),
        json!({"type": "string", "pattern": "^a+b?$"}),
        json!({"type": "string", "enum": ["a", "b"]}),
        json!({"type": "integer"}),
        json!({"type": "integer", "minimum": 5, "maximum": 25}),
        json!({"type": "number", "multipleOf": 0.5}),
        json!({"type": "boolean"}),
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "minProperties": 1, "maxProperties": 2}),
        json!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 10}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        json!({"allOf": [{"type": "object", "required": ["a"]}, {"type": "object", "properties": {"a": {"type": "string"}}}]}),
        json!({"not": {"type": "string"}}),
        json!({"$ref": "#/components/schemas/Tree"}),
        json!({"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}),
        json!({"$ref": "#/components/schemas/odd.name"}),
        json!({}),
    ];
    if version == "3.0.3" {
        schemas.extend([
            json!({"type": "string", "nullable": true}),
            json!({"type": "integer", "minimum": 5, "exclusiveMinimum": true}),
            json!({"type": "object", "properties": {"a": {"type": "integer", "nullable": true}}}),
            // No instance has an id: what may only be read need not be sent.
            json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer", "readOnly": true}}}),
            json!({"type": "object", "required": ["id", "a"], "properties": {
                "id": {"type": "integer", "writeOnly": true}, "a": {"type": "integer"}}}),
            json!({"type": "array", "items": {"required": ["id", "b"], "properties": {"id": {"readOnly": true}}}}),
        ]);
    } else {
        schemas.extend([
            json!({"type": ["string", "null"]}),
            json!({"type": "integer", "exclusiveMinimum": 5}),
            json!({"const": {"a": 1}}),
            json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}),
            json!({"type": "object", "patternProperties": {"^a": {"type": "integer"}}}),
            json!({"if": {"type": "integer"}, "then": {"minimum": 5}}),
            json!({"type": "object", "dependentRequired": {"a": ["b"]}}),
        ]);
    }
    schemas
}

fn instances() -> Vec<String> {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(5),
        json!(6),
        json!(25),
        json!(26),
        json!(-1),
        json!(1.5),
        json!(10.0),
        json!(12.25),
        json!(""),
        json!("a"),
        json!("aab"),
        json!("abba"),
        json!("äö"),
        json!([]),
        json!([1]),
        json!([1, 2, 3]),
        json!([1, 1]),
        json!([1, "x"]),
        json!(["x", 1]),
        json!(["x"]),
        json!({}),
        json!({"a": 1}),
        json!({"a": "x"}),
        json!({"a": null}),
        json!({"b": "x"}),
        json!({"a": 1, "b": "x"}),
        json!({"a": 1, "b": 2, "c": 3}),
        json!({"name": "t"}),
        json!({"name": "t", "kids": []}),
        json!({"name": "t", "kids": [{"name": "u"}]}),
        json!({"name": "t", "kids": [{"nam": "u"}]}),
        json!([{"name": "t"}]),
    ];
    let texts = ["", "{", "nul", "[1,]", "{\"a\": 1} x"].map(String::from);
    values.iter().map(Value::to_string).chain(texts).collect()
}

/// A document with an operation for each schema, and cases for each with every instance.
fn bodies(version: &str, are_answers: bool) -> (Value, Vec<Value>) {
    let mut paths = Map::new();
    let mut cases = Vec::new();
    for (at, schema) in schemas(version).into_iter().enumerate() {
        let content = json!({"application/json": {"schema": schema}});
        let fine = json!({"200": {"description": "fine"}});
        let (body, responses) = if are_answers {
            (
                json!(null),
                json!({"200": {"description": "fine", "content": content}}),
            )
        } else {
            (json!({"required": true, "content": content}), fine)
        };
        let mut operation = json!({"responses": responses});
        if !are_answers {
            operation["requestBody"] = body;
        }
        paths.insert(format!("/s{at}"), json!({"post": operation}));
        for instance in instances() {
            let mut case = json!({"method": "POST", "path": format!("/s{at}")});
            if are_answers {
                case["status"] = 200.into();
                case["answer_type"] = "application/json".into();
                case["answer"] = instance.into();
            } else {
                case["type"] = "application/json; charset=utf-8".into();
                case["body"] = instance.into();
            }
            cases.push(case);
        }
    }
    let tree = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}});
    let document = json!({
        "openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths,
        "components": {"schemas": {"Tree": tree, "odd.name": {"type": "integer"}}},
    });
    (document, cases)
}

/// Formats, where they stand in a schema and in parameters, with values that have them and that do not.
fn formats(version: &str) -> (Value, Vec<Value>) {
    let (int32, int64) = (
        json!({"type": "integer", "format": "int32"}),
        json!({"type": "integer", "format": "int64"}),
    );
    let mut schemas = vec![
        int32.clone(),
        int64.clone(),
        json!({"format": "int32"}),
        json!({"type": "integer", "format": "int32", "minimum": 5, "allOf": [{"multipleOf": 5}]}),
        json!({"type": "array", "items": int32}),
        json!({"type": "object", "properties": {"a": int32}, "additionalProperties": int64}),
        json!({"anyOf": [{"type": "string"}, int32]}),
        json!({"$ref": "#/components/schemas/Small"}),
        json!({"type": "number", "format": "double"}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "ipv4"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "password"}),
        json!({"type": "string", "format": "nobody-knows"}),
    ];
    if version == "3.0.3" {
        schemas.extend([
            json!({"type": "string", "format": "byte"}),
            json!({"type": "string", "format": "binary"}),
            json!({"type": "integer", "format": "int32", "nullable": true}),
        ]);
    } else {
        schemas.extend([
            json!({"type": "array", "prefixItems": [int32]}),
            json!({"type": ["integer", "null"], "format": "int32"}),
            json!({"if": {"type": "integer"}, "then": int32}),
            json!({"$defs": {"small": int32}, "type": "object", "patternProperties": {"^a": int32}}),
        ]);
    }
    let instances = [
        "0",
        "5",
        "2147483647",
        "2147483648",
        "2147483650",
        "-2147483648",
        "-2147483649",
        "9223372036854775807",
        "9223372036854775808",
        "1.5",
        "true",
        "null",
        "[2147483647]",
        "[2147483648]",
        "{\"a\": 2147483647}",
        "{\"a\": 2147483648}",
        "{\"b\": 2147483648}",
        "\"2147483648\"",
        "\"\"",
        "\"YQ==\"",
        "\"YR==\"",
        "\"YQ\"",
        "\"Y!==\"",
        "\"YWJj\"",
        "\"2026-02-28\"",
        "\"2026-02-30\"",
        "\"2026-02-28T01:02:03Z\"",
        "\"2026-02-28T25:02:03Z\"",
        "\"127.0.0.1\"",
        "\"127.0.0.256\"",
        "\"123e4567-e89b-12d3-a456-426614174000\"",
        "\"123e4567-e89b-12d3-a456-42661417400g\"",
        "\"123e4567e89b12d3a456426614174000\"",
    ];
    let responses = json!({"200": {"description": "fine"}});
    let mut paths = Map::new();
    let mut cases = Vec::new();
    for (at, schema) in schemas.into_iter().enumerate() {
        let content = json!({"application/json": {"schema": schema}});
        let body = json!({"required": true, "content": content});
        paths.insert(
            format!("/f{at}"),
            json!({"post": {"requestBody": body, "responses": responses}}),
        );
        cases.extend(instances.map(|instance| {
            json!({"method": "POST", "path": format!("/f{at}"), "type": "application/json", "body": instance})
        }));
    }
    for (at, schema) in [int32, int64].into_iter().enumerate() {
        let parameter = json!({"name": "p", "in": "query", "required": true, "schema": schema});
        paths.insert(
            format!("/p{at}"),
            json!({"get": {"parameters": [parameter], "responses": responses}}),
        );
        cases.extend(instances[..9].iter().map(|text| {
            json!({"method": "GET", "path": format!("/p{at}"), "query": format!("p={text}")})
        }));
    }
    let document = json!({
        "openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths,
        "components": {"schemas": {"Small": {"type": "integer", "format": "int32"}}},
    });
    (document, cases)
}

/// Parameters of every place and style, with texts that fit and that do not.
fn parameters(version: &str) -> (Value, Vec<Value>) {
    let schemas = [
        json!({"type": "integer", "minimum": 5, "maximum": 25}),
        json!({"type": "number"}),
        json!({"type": "boolean"}),
        json!({"type": "string", "minLength": 2}),
        json!({"type": "array", "items": {"type": "integer"}, "maxItems": 2}),
        json!({"$ref": "#/components/schemas/Color"}),
    ];
    let texts = [
        "5", "26", "1.5", "true", "x", "xy", "red", "5,6", "5,6,7", "5,x", "a%20b",
    ];
    let mut paths = Map::new();
    let mut cases = Vec::new();
    let responses = json!({"200": {"description": "fine"}});
    for (at, schema) in schemas.iter().enumerate() {
        for (place, required) in [
            ("query", true),
            ("query", false),
            ("header", true),
            ("cookie", false),
            ("path", true),
        ] {
            let name = format!("p{at}");
            let path = format!("/{place}{required}{at}");
            let template = if place == "path" {
                format!("{path}/{{{name}}}")
            } else {
                path.clone()
            };
            let mut parameter =
                json!({"name": name, "in": place, "required": required, "schema": schema});
            if place == "query" || place == "cookie" {
                parameter["explode"] = false.into();
            }
            paths.insert(
                template,
                json!({"get": {"parameters": [parameter], "responses": responses}}),
            );
            let mut case = json!({"method": "GET", "path": path});
            if place != "path" {
                cases.push(case.clone());
            }
            for text in texts
                .iter()
                .filter(|text| place == "path" || place == "query" || !text.contains('%'))
            {
                match place {
                    "query" => case["query"] = format!("other=1&{name}={text}").into(),
                    "header" => case["headers"] = json!({ &name: text }),
                    "cookie" => case["cookies"] = json!({ &name: text }),
                    _ => case["path"] = format!("{path}/{text}").into(),
                }
                cases.push(case.clone());
            }
        }
    }
    for (style, queries) in [
        ("form", ["p=1&p=2", "p=1", "p=1&p=x", "p=1&p=2&p=3", ""]),
        (
            "deepObject",
            ["p[a]=1&p[b]=x", "p[b]=x", "p[a]=x", "q[a]=1", ""],
        ),
    ] {
        let schema = if style == "form" {
            json!({"type": "array", "items": {"type": "integer"}, "maxItems": 2})
        } else {
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}})
        };
        let parameter =
            json!({"name": "p", "in": "query", "style": style, "explode": true, "schema": schema});
        let path = format!("/styled/{style}");
        paths.insert(
            path.clone(),
            json!({"get": {"parameters": [parameter], "responses": responses}}),
        );
        cases.extend(queries.map(|query| json!({"method": "GET", "path": path, "query": query})));
    }
    let document = json!({
        "openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths,
        "components": {"schemas": {"Color": {"type": "string", "enum": ["red", "green"]}}},
    });
    (document, cases)
}

/// Statuses, headers and Content-Types of answers; paths, methods, and Content-Types of requests.
fn shapes(version: &str) -> (Value, Vec<Value>) {
    let text = json!({"text/plain": {"schema": {"type": "string", "minLength": 2}}});
    let document = json!({
        "openapi": version, "info": {"title": "t", "version": "1"},
        "paths": {
            "/a": {"get": {"responses": {
                "200": {"description": "d", "content": text,
                        "headers": {"X-Count": {"required": true, "schema": {"type": "integer"}}}},
                "4XX": {"description": "d", "content": {"application/json": {"schema": {"type": "object"}}}},
            }}},
            "/b": {"get": {"responses": {"default": {"description": "d"}}},
                   "post": {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}},
                                                        "text/*": {}}},
                            "responses": {"default": {"description": "d"}}}},
            "/b/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}],
                                "responses": {"default": {"description": "d"}}}},
            "/b/mine": {"get": {"responses": {"default": {"description": "d"}}}},
        },
    });
    let answer = |status: u16, kind: &str, headers: Value, body: &str| json!({"method": "GET", "path": "/a", "status": status, "answer_type": kind, "answer_headers": headers, "answer": body});
    let mut cases = vec![
        answer(200, "text/plain", json!({"X-Count": "7"}), "ok"),
        answer(200, "text/plain", json!({"X-Count": "7"}), "o"),
        answer(200, "text/plain", json!({"X-Count": "x"}), "ok"),
        answer(200, "text/plain", json!({}), "ok"),
        answer(200, "text/html", json!({"X-Count": "7"}), "ok"),
        answer(201, "text/plain", json!({}), "ok"),
        answer(404, "application/json", json!({}), "{}"),
        answer(404, "application/json", json!({}), "[]"),
        answer(500, "application/json", json!({}), "{}"),
    ];
    for (method, path) in [
        ("GET", "/b"),
        ("PUT", "/b"),
        ("GET", "/c"),
        ("GET", "/b/7"),
        ("GET", "/b/x"),
        ("GET", "/b/mine"),
        ("GET", "/b/7/x"),
    ] {
        cases.push(json!({"method": method, "path": path}));
    }
    for (kind, body) in [
        ("application/json", "{}"),
        ("application/json", "[]"),
        ("text/html", "x"),
        ("image/png", "x"),
    ] {
        cases.push(json!({"method": "POST", "path": "/b", "type": kind, "body": body}));
    }
    (document, cases)
}

/// Where openapi-core is.
fn package() -> PathBuf {
    let data = std::env::var_os("XDG_DATA_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".local/share"),
        PathBuf::from,
    );
    let folder = data.join("gatebench/openapi-core");
    let place = folder.display();
    assert!(
        folder.is_dir(),
        "{place} is not there: scripts/install-openapi-core"
    );
    folder
}

/// What openapi-core says of the cases of each document.
fn oracle(documents: &[(Value, Vec<Value>)]) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi_oracle.py");
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
    let told = String::from_utf8(output.stdout).unwrap();
    told.lines().map(String::from).collect()
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
            let answer = ask(&mut client, case);
            let words = String::from_utf8_lossy(&answer.body);
            let is_ours = words.starts_with("gateway: ");
            count += 1;
            allowed += usize::from(verdict == '1');
            if is_ours == (verdict == '1') {
                differing.push(format!(
                    "{} {case}: {verdict} {} {words}",
                    document["openapi"], answer.status
                ));
            }
        }
    }
    assert!(
        count > 3500 && allowed > 1000 && count - allowed > 1000,
        "{allowed} of {count}"
    );
    assert!(
        differing.is_empty(),
        "{} of {count}:\n{}",
        differing.len(),
        differing.join("\n")
    );
}

#[test]
fn refusals_say_what_is_wrong_and_what_there_is() {
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
            String::from_utf8_lossy(&wrong.body).ends_with("it does not name the status 201\n")
        );
        // A body in chunks is held against it too.
        let chunked = "POST /api/b HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n";
        assert_eq!(client.ask(chunked).status, 400);
        assert_eq!(
            ask(&mut client, &json!({"method": "GET", "path": "/b"})).status,
            200
        );
    }
}

#[test]
fn what_may_only_be_read_or_written_is_required_of_who_may() {
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
    let status = |gateway: &Server<Totals>, body: &str, answer: &str| {
        let case = json!({
            "method": "POST", "path": "/accounts", "type": "application/json", "body": body,
            "status": 200, "answer_type": "application/json", "answer": answer,
        });
        ask(&mut gateway.client(), &case).status
    };
    let gateway = before(backend, &document("3.0.3"), true);
    assert_eq!(status(&gateway, sent, answered), 200);
    assert_eq!(status(&gateway, all, all), 200);
    assert_eq!(
        status(&gateway, r#"{"secret":"s"}"#, answered),
        400,
        "a name is sent"
    );
    assert_eq!(
        status(&gateway, answered, answered),
        400,
        "a secret is sent"
    );
    assert_eq!(status(&gateway, sent, sent), 502, "an id is answered");
    // In 3.1 both are words for readers, as in JSON Schema.
    let gateway = before(backend, &document("3.1.0"), true);
    assert_eq!(status(&gateway, sent, all), 400);
    assert_eq!(status(&gateway, all, answered), 502);
    assert_eq!(status(&gateway, all, all), 200);
}

#[test]
fn documents_that_cannot_be_used_are_told() {
    let wrong = |document: &str| {
        let config = json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "o", "keepalive": 1, "targets": [{"address": "127.0.0.1", "port": 1}]}],
            "routes": [{"name": "a", "path": "/", "upstream": "o", "policies": [{"openapi": {"document": document}}]}],
        });
        let told = GatewayConfig::parse(&config.to_string()).unwrap_err();
        told.all()[0].message.clone()
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
