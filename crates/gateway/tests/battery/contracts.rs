//! OpenAPI contracts and JSON edits must check and edit the value that the upstream reads. If a
//! value occurs twice, the upstream could read the one that was not checked.

use serde_json::{Value, json};

use self::Fate::{Either, Passed, Refused};
use crate::client;
use crate::lane::Battery;
use crate::vector::{AFTER, Expect, Seen, Vector};

pub fn battery() -> Battery {
    let remove = json!({"request_json": {"remove": ["/admin"]}});
    Battery {
        name: "contracts and edits",
        config: json!({
            "routes": [
                {"name": "open", "path": "/", "upstream": "origin"},
                {"name": "api", "path": "/api", "strip_path": true, "upstream": "origin",
                 "policies": [{"openapi": {"document": document().to_string()}}]},
                {"name": "edited", "path": "/edited", "upstream": "origin", "policies": [remove]},
            ],
            "timeouts": {"client_idle_ms": 5000},
        }),
        vectors: [
            bodies(),
            types(),
            forms(),
            parameters(),
            operations(),
            edits(),
        ]
        .concat(),
        hear: client::hear,
    }
}

fn document() -> Value {
    let parameter = |name: &str, place: &str, is_required: bool, maximum: u32| {
        json!({"name": name, "in": place, "required": is_required,
               "schema": {"type": "integer", "minimum": -10, "maximum": maximum}})
    };
    let payment = json!({
        "type": "object",
        "required": ["amount"],
        "additionalProperties": false,
        "properties": {
            "amount": {"type": "integer", "maximum": 10},
            "note": {"type": "string", "maxLength": 5},
        },
    });
    let form = json!({"type": "object", "required": ["amount"],
                      "properties": {"amount": {"type": "integer", "maximum": 10}}});
    let responses = json!({"default": {"description": "any"}});
    let with_body = |content: Value| {
        json!({"post": {"requestBody": {"required": true, "content": content},
                        "responses": responses}})
    };
    json!({
        "openapi": "3.1.0",
        "info": {"title": "payments", "version": "1"},
        "paths": {
            "/pay": with_body(json!({"application/json": {"schema": payment},
                                     "application/octet-stream": {}})),
            "/form": with_body(json!({"application/x-www-form-urlencoded": {"schema": form}})),
            "/pay/{id}": {"get": {
                "parameters": [
                    parameter("id", "path", true, 100),
                    parameter("q", "query", true, 10),
                    parameter("X-Level", "header", false, 10),
                    parameter("c", "cookie", false, 10),
                ],
                "responses": responses,
            }},
        },
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passed,
    Refused,
    Either,
}

/// A vector that consists of this request and the usual one after it. If the gateway forwards the
/// request, the origin must read it as `seen`.
fn vector(request: &str, seen: Seen, fate: Fate) -> Vector {
    let requests = vec![seen, Seen::after()];
    let expect = match fate {
        Passed => Expect::Passed(requests),
        Refused => Expect::declined(),
        Either => Expect::Either(requests),
    };
    let name: String = request.replace("\r\nHost: h\r\nV: VVVVV", "");
    let name: String = name.escape_debug().take(300).collect();
    Vector::new(name, format!("{request}{AFTER}"), expect)
}

fn post(target: &str, seen_target: &str, lines: &str, body: &[u8], fate: Fate) -> Vector {
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n{lines}Content-Length: {length}\r\n\r\n"
    );
    let mut vector = vector(&head, Seen::new(seen_target, body), fate);
    vector.name += &body[..length.min(200)].escape_ascii().to_string();
    vector.bytes = [head.as_bytes(), body, AFTER.as_bytes()].concat();
    vector
}

fn pay(lines: &str, body: &[u8], fate: Fate) -> Vector {
    post("/api/pay", "/pay", lines, body, fate)
}

const JSON: &str = "Content-Type: application/json\r\n";

/// Bodies that are declared to be JSON (RFC 8259). Valid ones have an `amount`, an integer of at
/// most 10.
const BODIES: &[(&[u8], Fate)] = &[
    (br#"{"amount":5}"#, Passed),
    (b" {\n\"amount\" :\t5 }\r\n", Passed),
    (br#"{"amount":5,"note":"hello"}"#, Passed),
    (br#"{"\u0061mount":5}"#, Passed),
    (br#"{"amount":-5}"#, Passed),
    (br#"{"amount":5.0}"#, Either),
    (br#"{"amount":5e0}"#, Either),
    (br#"{"amount":-0}"#, Either),
    (br#"{"amount":0.5e1}"#, Either),
    (br#"{"amount":500}"#, Refused),
    (br#"{"amount":11}"#, Refused),
    (br#"{"amount":5e2}"#, Refused),
    (br#"{"amount":1e99}"#, Refused),
    (br#"{"amount":1e999}"#, Refused),
    (br#"{"amount":5.5}"#, Refused),
    (br#"{"amount":18446744073709551621}"#, Refused),
    (br#"{"amount":10.000000000000000001}"#, Either),
    (br#"{"amount":"5"}"#, Refused),
    (br#"{"amount":[5]}"#, Refused),
    (br#"{"amount":null}"#, Refused),
    (br#"{"amount":true}"#, Refused),
    (br#"{"amount":05}"#, Refused),
    (br#"{"amount":+5}"#, Refused),
    (br#"{"amount":0x5}"#, Refused),
    (br#"{"amount":5.}"#, Refused),
    (br#"{"amount":.5}"#, Refused),
    (br#"{"amount":NaN}"#, Refused),
    (br#"{"amount":Infinity}"#, Refused),
    (br#"{"Amount":5}"#, Refused),
    (br#"{"amount":5,"admin":true}"#, Refused),
    (br#"{"amount":5,"note":"too long"}"#, Refused),
    (br#"{"amount":5,"__proto__":{}}"#, Refused),
    (br#"{"amount":500,"amount":5}"#, Refused),
    (br#"{"amount":5,"amount":500}"#, Refused),
    (br#"{"amount":5,"amount":5}"#, Refused),
    (br#"{"amount":500,"\u0061mount":5}"#, Refused),
    (br#"{"amount":5,"a\u006Dount":500}"#, Refused),
    (br#"{"amount":5}x"#, Refused),
    (br#"{"amount":5}{"amount":500}"#, Refused),
    (br#"{"amount":5}]"#, Refused),
    (br#"{"amount":5,}"#, Refused),
    (br#"{"amount":5"#, Refused),
    (br#"{amount:5}"#, Refused),
    (br#"{'amount':5}"#, Refused),
    (br#"{"amount":5/* 500 */}"#, Refused),
    (b"{\"amount\":5 // 500\n}", Refused),
    (b"{\"amount\":5}\0", Refused),
    (b"{\"amount\":\x0b5}", Refused),
    (b"\xef\xbb\xbf{\"amount\":5}", Refused),
    (b"\xfe\xff\0{\0}", Refused),
    (b"{\"amount\":5,\"note\":\"\xff\"}", Refused),
    (b"{\"amount\":5,\"note\":\"a\nb\"}", Refused),
    (br#"{"amount":5,"note":"\x41"}"#, Refused),
    (br#"{"amount":5,"note":"\ud800"}"#, Either),
    (br#"{}"#, Refused),
    (br#"[]"#, Refused),
    (br#"[{"amount":5}]"#, Refused),
    (br#""amount""#, Refused),
    (b"5", Refused),
    (b"null", Refused),
    (b" ", Refused),
    (b"", Refused),
];

fn bodies() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (body, fate) in BODIES {
        vectors.push(pay(JSON, body, *fate));
    }
    vectors.push(pay(JSON, "[".repeat(20_000).as_bytes(), Refused));
    let nested = format!("{{\"amount\":{}5{}}}", "[".repeat(200), "]".repeat(200));
    vectors.push(pay(JSON, nested.as_bytes(), Refused));
    for (chunks, body, fate) in [
        ("c\r\n{\"amount\":5}\r\n0\r\n\r\n", "{\"amount\":5}", Passed),
        (
            "b\r\n{\"amount\":5\r\n1\r\n}\r\n0\r\n\r\n",
            "{\"amount\":5}",
            Passed,
        ),
        ("e\r\n{\"amount\":500}\r\n0\r\n\r\n", "", Refused),
        ("b\r\n{\"amount\":5\r\n3\r\n00}\r\n0\r\n\r\n", "", Refused),
        ("0\r\n\r\n", "", Refused),
    ] {
        let head = format!(
            "POST /api/pay HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n{JSON}Transfer-Encoding: chunked"
        );
        let request = format!("{head}\r\n\r\n{chunks}");
        vectors.push(vector(&request, Seen::new("/pay", body), fate));
    }
    vectors
}

/// Fields that determine how a body is read. Each body is valid JSON; its amount is excessive if
/// the request must be refused.
fn types() -> Vec<Vector> {
    let (good, high) = (br#"{"amount":5}"#, br#"{"amount":500}"#);
    let mut vectors = Vec::new();
    for (lines, fate) in [
        ("Content-Type: application/json\r\n", Passed),
        ("content-type:APPLICATION/Json\r\n", Passed),
        ("Content-Type: application/json; charset=utf-8\r\n", Passed),
        ("Content-Type: application/json ; a=b\r\n", Either),
        (
            "Content-Type: application/json\r\nContent-Encoding: identity\r\n",
            Passed,
        ),
        (
            "Content-Type: application/json\r\nX-HTTP-Method-Override: DELETE\r\n",
            Passed,
        ),
        (
            "Content-Type: application/json\r\nContent-Type: application/json\r\n",
            Either,
        ),
    ] {
        vectors.push(pay(lines, good, fate));
    }
    vectors.push(pay(
        "Content-Type: application/octet-stream\r\n",
        high,
        Passed,
    ));
    for lines in [
        "",
        "Content-Type:\r\n",
        "Content-Type: json\r\n",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/jsonx\r\n",
        "Content-Type: application/x-json\r\n",
        "Content-Type: application/json, application/octet-stream\r\n",
        "Content-Type: application/octet-stream, application/json\r\n",
        "Content-Type: application/octet-stream\r\nContent-Type: application/json\r\n",
        "Content-Type: application/json\r\nContent-Type: application/octet-stream\r\n",
        "Content-Type: application/octet-stream\r\ncontent-type: application/json\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        "Content-Type: application/json\r\nContent-Encoding: x\r\n",
        "Content-Type: application/json\r\nContent-Encoding: identity, gzip\r\n",
        "Content-Encoding: identity\r\nContent-Type: application/json\r\nContent-Encoding: x\r\n",
        "Content-Type : application/json\r\n",
        "Content-Type: application/octet-stream\r\n\tapplication/json\r\n",
    ] {
        vectors.push(pay(lines, high, Refused));
    }
    vectors
}

fn forms() -> Vec<Vector> {
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let of = |body: &str, fate| post("/api/form", "/form", form, body.as_bytes(), fate);
    vec![
        of("amount=5", Passed),
        of("a=b&amount=5", Passed),
        of("amount=%35", Passed),
        of("amount=500", Refused),
        of("amount=%35%30%30", Refused),
        of("amount=x", Refused),
        of("amount=5x", Refused),
        of("amount=", Refused),
        of("amount", Refused),
        of("Amount=5", Refused),
        of("amount=5&amount=500", Refused),
        of("amount=500&amount=5", Refused),
        of("amount=500&%61mount=5", Refused),
        of("amount=5%00", Refused),
        of("", Refused),
    ]
}

/// Parameters of `GET /api/pay/{id}`, which must be integers: `id` up to 100, the others up to 10.
fn parameters() -> Vec<Vector> {
    let get = |target: &str, lines: &str, fate: Fate| {
        let head = format!("GET /api{target} HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n{lines}\r\n");
        let mut seen = Seen::new(target, "");
        if target.contains('%') {
            // The gateway may forward encoded text in decoded form.
            seen.target = None;
        }
        vector(&head, seen, fate)
    };
    let mut vectors = Vec::new();
    for (target, fate) in [
        ("/pay/7?q=5", Passed),
        ("/pay/7?a=b&q=-5", Passed),
        ("/pay/7?q=%35", Either),
        ("/pay/%37?q=5", Either),
        ("/pay/7?%71=5", Either),
        ("/pay/7?q=5.0", Either),
        ("/pay/7?q=5&q=5", Either),
        ("/pay/7?q=05", Either),
        ("/pay/7", Refused),
        ("/pay/7?", Refused),
        ("/pay/7?q", Refused),
        ("/pay/7?q=", Refused),
        ("/pay/7?q=11", Refused),
        ("/pay/7?q=x", Refused),
        ("/pay/7?q=5x", Refused),
        ("/pay/7?q=5%00", Refused),
        ("/pay/7?q=%3500", Refused),
        ("/pay/7?q=1+1", Refused),
        ("/pay/7?Q=5", Refused),
        ("/pay/7?q[]=5", Refused),
        ("/pay/7?a=b;q=5", Refused),
        ("/pay/7?q=5&q=11", Refused),
        ("/pay/7?q=11&q=5", Refused),
        ("/pay/7?q=evil&q=1", Refused),
        ("/pay/7?q=11&%71=5", Refused),
        ("/pay/7?q=5&q", Refused),
        ("/pay/x?q=5", Refused),
        ("/pay/7.5?q=5", Refused),
        ("/pay/101?q=5", Refused),
        ("/pay/7%00?q=5", Refused),
        ("/pay/7;a=b?q=5", Refused),
    ] {
        vectors.push(get(target, "", fate));
    }
    for (lines, fate) in [
        ("X-Level: 3\r\n", Passed),
        ("Cookie: c=3\r\n", Passed),
        ("Cookie: a=b; c=3\r\n", Passed),
        ("X-Level: x\r\n", Refused),
        ("X-Level: 11\r\n", Refused),
        ("X-Level:\r\n", Refused),
        ("X-Level: 3, 11\r\n", Refused),
        ("X-Level: 3\r\nX-Level: 11\r\n", Refused),
        ("X-Level: 11\r\nx-level: 3\r\n", Refused),
        ("Cookie: c=x\r\n", Refused),
        ("Cookie: c=11\r\n", Refused),
        ("Cookie: c=3; c=11\r\n", Refused),
        ("Cookie: c=11; c=3\r\n", Refused),
        ("Cookie: c=3\r\nCookie: c=11\r\n", Refused),
    ] {
        vectors.push(get("/pay/7?q=5", lines, fate));
    }
    vectors
}

/// A path and a method that the document defines, and others that it does not define.
fn operations() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (method, target, seen, fate) in [
        ("GET", "/api/pay/7?q=5", "/pay/7?q=5", Passed),
        ("get", "/api/pay/7?q=5", "", Refused),
        ("GET", "/api/pay", "", Refused),
        ("PUT", "/api/pay", "", Refused),
        ("PATCH", "/api/pay", "", Refused),
        ("OPTIONS", "/api/pay", "", Refused),
        ("TRACE", "/api/pay", "", Refused),
        ("X-OTHER", "/api/pay", "", Refused),
        ("GET", "/api", "", Refused),
        ("GET", "/api/", "", Refused),
        ("GET", "/api/pay/", "", Refused),
        ("GET", "/api/pay/7/?q=5", "", Refused),
        ("GET", "/api/pay/7/8?q=5", "", Refused),
        ("GET", "/api/PAY/7?q=5", "", Refused),
        ("GET", "/api/pay//7?q=5", "", Refused),
        ("GET", "/api/pay/../pay/7?q=5", "", Refused),
        ("GET", "/api/nowhere", "", Refused),
    ] {
        let head = format!("{method} {target} HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n\r\n");
        vectors.push(vector(&head, Seen::new(seen, ""), fate));
    }
    vectors
}

/// Bodies, most of them with a member `admin`. The member must not reach the origin at the top
/// level of a body that is declared to be JSON.
fn edits() -> Vec<Vector> {
    let edited = |lines: &str, body: &str, seen: &str, fate: Fate| {
        let mut vector = post("/edited", "/edited", lines, body.as_bytes(), fate);
        vector.expect = match fate {
            Refused => Expect::declined(),
            Passed => Expect::Passed(vec![Seen::new("/edited", seen), Seen::after()]),
            Either => Expect::Either(vec![Seen::new("/edited", seen), Seen::after()]),
        };
        vector
    };
    let admin = r#"{"a":1,"admin":true}"#;
    let left = r#"{"a":1}"#;
    let of = |body: &str, seen: &str, fate| edited(JSON, body, seen, fate);
    let both = "Content-Type: text/plain\r\nContent-Type: application/json\r\n";
    let reverse = "Content-Type: application/json\r\nContent-Type: text/plain\r\n";
    let coded = "Content-Type: application/json\r\nContent-Encoding: identity\r\n\
                 Content-Encoding: gzip\r\n";
    vec![
        of(admin, left, Passed),
        of(left, left, Passed),
        of(r#"{"admin":true,"a":1}"#, left, Passed),
        of(r#"{"a":1,"\u0061dmin":true}"#, left, Passed),
        of(
            r#"{"a":1,"\u0061\u0064\u006d\u0069\u006E":true}"#,
            left,
            Passed,
        ),
        of(r#"{"admin":true}"#, "{}", Passed),
        of(r#"{"a":1,"admin":{"admin":[1,{}]}}"#, left, Passed),
        of(r#"{"a":{"admin":1}}"#, r#"{"a":{"admin":1}}"#, Passed),
        of(r#"{"a":1,"Admin":true}"#, r#"{"a":1,"Admin":true}"#, Passed),
        of(r#"[{"admin":true}]"#, r#"[{"admin":true}]"#, Passed),
        of(r#"{"admin":true,"a":1,"admin":true}"#, left, Refused),
        of(r#"{"admin":true,"a":1,"\u0061dmin":true}"#, left, Refused),
        of(r#"{"a":1,"admin":true}x"#, left, Refused),
        of(r#"{"a":1,"admin":true"#, left, Refused),
        of(r#"{"a":1,admin:true}"#, left, Refused),
        of(r#"{"a":1,/*"*/"admin":true/*"*/}"#, left, Refused),
        of("", "", Either),
        edited("Content-Type: application/x+json\r\n", admin, left, Passed),
        edited("Content-Type: APPLICATION/JSON ;a\r\n", admin, left, Passed),
        edited(
            "Expect: 100-continue\r\nContent-Type: application/json\r\n",
            admin,
            left,
            Passed,
        ),
        edited("Content-Type: text/plain\r\n", admin, admin, Passed),
        edited(both, admin, left, Refused),
        edited(reverse, admin, left, Refused),
        edited(coded, admin, left, Refused),
    ]
}
