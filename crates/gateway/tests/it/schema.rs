//! Tests that the JSON Schema, which text editors use, and the reader, which parses configuration
//! files, accept the same configurations. Rules that a schema cannot express are listed here by
//! name.

use std::cell::Cell;
use std::collections::BTreeSet;

use gatebench_gateway::{Document, GatewayConfig};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// The kinds of mistakes that only the reader can find, with parts of their messages.
const EXEMPT: [(&str, &[&str]); 9] = [
    (
        "duplicates",
        &[
            "there is another ",
            "another route has the path",
            "occurs more than once",
        ],
    ),
    ("a reference to a missing part", &["there is no upstream "]),
    (
        "a consumer name that a policy sends to upstreams",
        &["the name is sent in a header"],
    ),
    (
        "the groups of an IPv6 address",
        &["\"[:::1]:80\" is not an IP address with a port"],
    ),
    (
        "the form of a key",
        &[
            "the secret has fewer than the 32 bytes",
            "no key for HS256 or RS256",
            "this is not a key",
            "`k` is missing or is not unpadded Base64url",
            "this is not a public key",
        ],
    ),
    (
        "other files, and text in other languages",
        &[
            "cannot be read",
            "this is not JSON",
            "neither OpenAPI",
            "the document has no operation",
            "the document cannot be used",
            "at /paths",
        ],
    ),
    (
        "edits to the same place",
        &["two edits affect", "two members are renamed to"],
    ),
    ("a duration longer than a year", &["is longer than a year"]),
    (
        "a whole number that is written with a fraction",
        &["must be a whole number, not a number with a fraction"],
    ),
];

fn file(policies: Value) -> Value {
    json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "o", "keepalive": 1, "targets": [{"address": "127.0.0.1", "port": 1}]}],
        "consumers": [{"name": "alice", "keys": ["k"]}],
        "routes": [{"name": "a", "path": "/", "upstream": "o", "policies": policies}],
    })
}

/// Everything that a file may contain in addition to policies.
fn frame() -> Value {
    json!({
        "listen": ["127.0.0.1:0", "[::1]:8080"],
        "tls": {"certificate": "c.pem", "key": "k.pem"},
        "http2": false,
        "workers": 2,
        "access_log": true,
        "metrics": {"path": "/metrics"},
        "collected_bytes_max": 1000,
        "connection_collected_bytes_max": 2000,
        "connections_max": 3,
        "upstreams": [
            {"name": "o", "keepalive": 1, "rest_after_failure_ms": 5,
             "tls": {"ca": "ca.pem", "skip_verify": true, "server_name": "s"},
             "targets": [{"address": "127.0.0.1", "port": 1, "weight": 3},
                         {"address": "localhost", "port": 2, "weight": 0}]},
            {"name": "p", "keepalive": 0, "targets": [{"address": "127.0.0.1", "port": 1}]},
        ],
        "consumers": [{"name": "alice", "keys": ["k", "l"], "password": "secret"}, {"name": "bob"}],
        "routes": [
            {"name": "a", "path": "/a", "paths": "strict", "strip_path": true, "upstream": "o", "policies": [],
             "timeouts": {"connect_ms": 5, "upstream_ms": 6},
             "test_delay": {"request_ns": 1, "response_ns": 2,
                            "bimodal": {"every": 10, "request_ns": 3, "response_ns": 4}}},
            {"name": "b", "path": "/b//%2f", "paths": "verbatim", "policies": [
                {"mock": {"status": 204, "content_type": "text/plain", "body": ""}}]},
        ],
        "timeouts": {"connect_ms": 1, "upstream_ms": 2, "client_idle_ms": 3, "request_head_ms": 4,
                     "request_body_ms": 5, "drain_ms": 6},
    })
}

/// Lists of policies with all their settings; the policies of a list can be combined.
fn policies() -> Vec<Value> {
    let sheet = "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'/>";
    let chain = json!({
        "xslt_transform_before": sheet, "xslt_transform_after": sheet, "xslt_library": "libxslt",
        "xslt_params": {"a": "b"}, "xslt_remove_empty_name_space": false,
        "xsd_soap_schema": "a.xsd", "xsd_soap12_schema": "b.xsd", "xsd_api_schema": "c.wsdl",
        "includes": {"http://h/i.xsd": "i.xsd"}, "cache_ttl": "1.5h", "verbose": true, "soap_action": "yes_null_allowed",
        "route_xpath_targets": [{"xpath": "//a", "condition": "b", "path": "/c?d", "upstream": "o"}],
        "route_xpath_register_ns": {"p": "urn:p"}, "ignore_process_if_service_http_error": true,
    });
    let document = "{\"openapi\": \"3.1.0\", \"paths\": {\"/\": {\"get\": {\"responses\": {}}}}}";
    let key = "YS1zZWNyZXQtb2YtYXQtbGVhc3QtMzItYnl0ZXMtZm9yLWhzMjU2";
    let edits = json!({"remove": ["X-A"], "rename": {"X-B": "X-C"}, "set": {"X-D": "e f"}, "add": {"X-G": ""}});
    let in_json = json!({"remove": ["/a/0"], "rename": {"/b": "c"}, "add": {"/d~1e": [1]}, "default": {"/f": null}});
    let limited = json!({"limit": 5, "window": "1m", "per": "header", "header": "X-Client", "headers": true,
        "redis": "127.0.0.1:6379", "password": "p", "counting": "asynchronous", "interval": "50ms",
        "timeout": "20ms", "without_redis": "refuse"});
    vec![
        json!([{"consumer_header": {"header": "X-Consumer"}}, {"api_key": {"header": "X-Key"}}]),
        json!([{"api_key_query": {"name": "key"}}, {"basic_auth": {"realm": "here"}}]),
        json!([{"jwt": {"keys": [{"hs256": {"secret": "0123456789abcdef0123456789abcdef", "id": "one"}}],
                        "jwks": {"keys": [{"kty": "oct", "k": key}]},
                        "issuer": "i", "audience": "a", "leeway": "5s"}}]),
        json!([{"jwt": {"jwks": {"keys": [{"kty": "oct", "k": key}]}}}]),
        json!([{"rate_limit": {"limit": 5, "window": "1s", "per": "header", "header": "X-Client", "headers": true}}]),
        json!([{"rate_limit": {"limit": 5, "window": "1s"}}, {"request_size_limit": {"max_bytes": 10}}]),
        json!([{"redis_rate_limit": limited}]),
        json!([{"openapi": {"document": document, "requests": true, "responses": true}}]),
        json!([{"request_headers": edits}, {"response_headers": edits}]),
        json!([{"request_json": in_json}, {"response_json": in_json}]),
        json!([{"response_xslt": {"stylesheet": sheet, "params": {"a": "b"}}}]),
        json!([{"soap": {"request": chain, "response": {}}}]),
        json!([{"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}}]),
    ]
}

/// Correct files: the frame, and one file for each list of policies.
fn good() -> Vec<Value> {
    std::iter::once(frame())
        .chain(policies().into_iter().map(file))
        .collect()
}

/// Replacements for a value: other types, bounds and values beyond them, and valid and invalid
/// words.
fn odd() -> Vec<Value> {
    let texts = [
        "",
        " ",
        "a b",
        "\u{e4}",
        "a\nb",
        "/",
        "/a~2",
        "/x#",
        "/x//y",
        "/%2e",
        "/a/..;b",
        "/%C3%A9;c/%20",
        "x:y",
        "nonsense",
        "hOst",
        "0s",
        "0.0ms",
        "9000h",
        "1s",
        "127.0.0.1",
        "127.0.0.1:99999",
        "0.0.0.0:080",
        "[::1]:80",
        "[:::1]:80",
        "<a/>",
        "{}",
    ];
    let numbers = [
        json!(0),
        json!(1),
        json!(-1),
        json!(7.5),
        json!(1.0),
        json!(204),
        json!(65_536),
        json!(4_294_967_296_u64),
        json!(i64::MAX),
    ];
    let rest = [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!([7]),
        json!([""]),
        json!({"a": "b"}),
        json!({"hOst": "x"}),
        json!({"/a": 1}),
        json!({"/a~2": "x"}),
        json!({"X-A": "\u{e4}"}),
        json!({"X-A": "expect"}),
    ];
    let texts = texts.into_iter().map(Value::from);
    texts.chain(numbers).chain(rest).collect()
}

#[derive(Clone, Debug)]
enum Change {
    Replace(String, Value),
    Remove(String, String),
    Add(String, String),
    Repeat(String),
}

/// Appends the places of a value and of all values in it to `found`.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn changes(file: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    places(file, "", &mut found);
    let mut changes = Vec::new();
    for at in found {
        changes.extend(
            odd()
                .into_iter()
                .map(|value| Change::Replace(at.clone(), value)),
        );
        match file.pointer(&at).unwrap() {
            Value::Object(map) => {
                changes.extend(
                    map.keys()
                        .map(|key| Change::Remove(at.clone(), key.clone())),
                );
                let keys = ["no_such_key", "Host", "/z", ""];
                changes.extend(keys.map(|key| Change::Add(at.clone(), key.to_owned())));
            }
            Value::Array(items) if !items.is_empty() => changes.push(Change::Repeat(at)),
            _ => {}
        }
    }
    changes
}

impl Change {
    fn made(&self, file: &Value) -> Value {
        let mut file = file.clone();
        match self {
            Self::Replace(at, value) => *file.pointer_mut(at).unwrap() = value.clone(),
            Self::Remove(at, key) => drop(
                file.pointer_mut(at)
                    .unwrap()
                    .as_object_mut()
                    .unwrap()
                    .remove(key),
            ),
            Self::Add(at, key) => file.pointer_mut(at).unwrap()[key.as_str()] = "x".into(),
            Self::Repeat(at) => {
                let items = file.pointer_mut(at).unwrap().as_array_mut().unwrap();
                items.push(items[0].clone());
            }
        }
        file
    }
}

/// The verdict on a file, if the schema and the reader agree or differ only by an exemption.
struct Verdict {
    is_read: bool,
    exempt: Option<&'static str>,
}

fn judged(schema: &Validator, file: &Value) -> Result<Verdict, String> {
    let reported = match Document::read("g.yaml", &file.to_string()) {
        Ok(_) => Vec::new(),
        Err(wrong) => wrong.all().iter().map(ToString::to_string).collect(),
    };
    let is_read = reported.is_empty();
    let exempt = |reported: &String| {
        EXEMPT
            .iter()
            .find(|(_, words)| words.iter().any(|one| reported.contains(one)))
    };
    match (schema.is_valid(file), is_read) {
        (true, true) | (false, false) => Ok(Verdict {
            is_read,
            exempt: None,
        }),
        (true, false) => {
            let all: Option<Vec<_>> = reported.iter().map(exempt).collect();
            let first = all.and_then(|all| all.first().map(|(name, _)| *name));
            let exempt = Some(first.ok_or_else(|| {
                format!("the schema allows it, but the reader says {reported:#?}")
            })?);
            Ok(Verdict { is_read, exempt })
        }
        (false, true) => {
            let why: Vec<String> = schema
                .iter_errors(file)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            Err(format!(
                "the reader allows it, but the schema says {why:#?}"
            ))
        }
    }
}

fn schema() -> Validator {
    let schema = GatewayConfig::json_schema();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn schema_and_reader_agree_on_any_single_change() {
    let schema = schema();
    let (mut read, mut refused, mut differing, mut used) = (0, 0, Vec::new(), BTreeSet::new());
    for file in good() {
        assert!(judged(&schema, &file).unwrap().is_read, "{file}");
        for change in changes(&file) {
            let changed = change.made(&file);
            match judged(&schema, &changed) {
                Ok(verdict) => {
                    read += usize::from(verdict.is_read);
                    refused += usize::from(!verdict.is_read);
                    used.extend(verdict.exempt);
                }
                Err(why) => differing.push(format!("{change:?}: {why}")),
            }
        }
    }
    assert!(
        differing.is_empty(),
        "{}:\n{}",
        differing.len(),
        differing.join("\n")
    );
    assert!(
        read > 1_000 && refused > 3_000,
        "{read} read, {refused} refused"
    );
    let unused: Vec<_> = EXEMPT
        .iter()
        .filter(|(name, _)| !used.contains(name))
        .collect();
    assert!(
        unused.is_empty(),
        "no file needs these exemptions: {unused:?}"
    );
}

/// Correct files, with some of the lists of policies and some of the other settings.
fn any_good() -> impl Strategy<Value = Value> {
    let all = policies();
    let count = all.len();
    let settings = [
        "http2",
        "workers",
        "access_log",
        "metrics",
        "collected_bytes_max",
        "connection_collected_bytes_max",
        "connections_max",
        "timeouts",
    ];
    let chosen = proptest::collection::btree_set(0..count, 0..4);
    let named = proptest::sample::subsequence(settings.to_vec(), 0..=settings.len());
    // Paths with no empty segment except at the end, no dot segment, and only necessary encodings.
    let path = "/([!$&-+,:=@A-Z_a-z~-][!$&-.0-;=@A-Z_a-z~]{0,4}(%20|%[89A-F][0-9A-F])?/?){0,3}";
    (chosen, named, 1_u32..=1024, path, "[a-z]{1,5}").prop_map(
        move |(chosen, named, workers, path, name)| {
            let mut whole = frame();
            let mut file = file(json!([]));
            for setting in named {
                file[setting] = whole[setting].take();
            }
            file["workers"] = workers.into();
            let routes = file["routes"].as_array_mut().unwrap();
            routes[0]["path"] = path.into();
            routes[0]["name"] = name.into();
            for number in chosen {
                routes.push(json!({
                    "name": format!("policies {number}"), "path": format!("/a-longer-path/{number}"),
                    "upstream": "o", "policies": all[number],
                }));
            }
            file
        },
    )
}

#[test]
fn schema_and_reader_agree_on_any_file() {
    let schema = schema();
    let (read, refused) = (Cell::new(0), Cell::new(0));
    let changes_of_each = proptest::collection::vec(any::<proptest::sample::Index>(), 0..3);
    let strategy = (any_good(), changes_of_each);
    let outcome = TestRunner::new(Config::with_cases(400)).run(&strategy, |(mut file, picks)| {
        if picks.is_empty() {
            let verdict = judged(&schema, &file).map_err(TestCaseError::fail)?;
            prop_assert!(verdict.is_read, "{}", file);
        }
        for pick in &picks {
            let all = changes(&file);
            file = all[pick.index(all.len())].made(&file);
        }
        let verdict =
            judged(&schema, &file).map_err(|why| TestCaseError::fail(format!("{file}: {why}")))?;
        let count = if verdict.is_read { &read } else { &refused };
        count.set(count.get() + 1);
        Ok(())
    });
    outcome.unwrap();
    assert!(
        read.get() > 100 && refused.get() > 100,
        "{read:?} {refused:?}"
    );
}
