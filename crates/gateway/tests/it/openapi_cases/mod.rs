//! OpenAPI documents with valid and invalid requests and responses. The verdicts come from an
//! independent validator.

use serde_json::{Map, Value, json};

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
            // No instance has an id, so the verdicts show in which direction the member may be
            // missing.
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

/// A document with an operation for each schema, and a case for each combination of an operation
/// and an instance.
pub fn bodies(version: &str, are_responses: bool) -> (Value, Vec<Value>) {
    let mut paths = Map::new();
    let mut cases = Vec::new();
    for (at, schema) in schemas(version).into_iter().enumerate() {
        let content = json!({"application/json": {"schema": schema}});
        let fine = json!({"200": {"description": "fine"}});
        let (body, responses) = if are_responses {
            (
                json!(null),
                json!({"200": {"description": "fine", "content": content}}),
            )
        } else {
            (json!({"required": true, "content": content}), fine)
        };
        let mut operation = json!({"responses": responses});
        if !are_responses {
            operation["requestBody"] = body;
        }
        paths.insert(format!("/s{at}"), json!({"post": operation}));
        for instance in instances() {
            let mut case = json!({"method": "POST", "path": format!("/s{at}")});
            if are_responses {
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

/// Formats in schemas and in parameters, with values that match them and values that do not.
pub fn formats(version: &str) -> (Value, Vec<Value>) {
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

/// Parameters in every location and of several styles, with strings that match them and strings
/// that do not.
pub fn parameters(version: &str) -> (Value, Vec<Value>) {
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

/// Statuses, headers and Content-Types of responses; paths, methods, and Content-Types of requests.
pub fn shapes(version: &str) -> (Value, Vec<Value>) {
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
    let response = |status: u16, kind: &str, headers: Value, body: &str| json!({"method": "GET", "path": "/a", "status": status, "answer_type": kind, "answer_headers": headers, "answer": body});
    let mut cases = vec![
        response(200, "text/plain", json!({"X-Count": "7"}), "ok"),
        response(200, "text/plain", json!({"X-Count": "7"}), "o"),
        response(200, "text/plain", json!({"X-Count": "x"}), "ok"),
        response(200, "text/plain", json!({}), "ok"),
        response(200, "text/html", json!({"X-Count": "7"}), "ok"),
        response(201, "text/plain", json!({}), "ok"),
        response(404, "application/json", json!({}), "{}"),
        response(404, "application/json", json!({}), "[]"),
        response(500, "application/json", json!({}), "{}"),
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
