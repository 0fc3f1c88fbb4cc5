//! The JSON Schema of a configuration: the form that the types define, and as much of the meaning
//! as a schema can express.
//!
//! A file is checked against the form alone, because
//! [`crate::config::GatewayConfig::validate`] describes mistakes in meaning better. The published
//! schema (`whole`) contains both. A test (`tests/it/schema.rs`) checks that the schema and
//! `validate` agree, apart from the mistakes that the test lists.

use std::sync::LazyLock;

use schemars::schema_for;
use serde_json::{Value, json};

use crate::config::GatewayConfig;

pub(crate) fn form() -> &'static Value {
    static FORM: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = schema_for!(GatewayConfig);
        schema.insert(
            "title".into(),
            "gatebench configuration of the reference gateway".into(),
        );
        schema.into()
    });
    &FORM
}

pub(crate) fn whole() -> Value {
    let mut schema = form().clone();
    bound_integers(&mut schema);
    let parts = [
        of_the_file(),
        of_upstreams_and_consumers(),
        of_routes(),
        of_limits(),
        of_edits(),
        of_responses(),
    ];
    for (place, more) in parts.into_iter().flatten() {
        add(&mut schema, place, more);
    }
    schema
}

/// The additional keywords of a schema, each with its place. A place is `Type`, `Type/member`, or
/// `/member` for a member of the file; `/items` may follow a member.
type Meaning = Vec<(&'static str, Value)>;

/// Adds keywords to a place; existing keywords of the same name are replaced.
fn add(schema: &mut Value, place: &str, more: Value) {
    let pointer = match place.split_once('/') {
        None => format!("/$defs/{place}"),
        Some(("", member)) => format!("/properties/{member}"),
        Some((kind, member)) => format!("/$defs/{kind}/properties/{member}"),
    };
    match (schema.pointer_mut(&pointer), more) {
        (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
        _ => debug_assert!(false, "the schema has no {place}"),
    }
}

/// Adds the maximum values of integers, which a general validator does not derive from `format`.
fn bound_integers(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let most: Option<u64> = match map.get("format").and_then(Value::as_str) {
                Some("uint32") => Some(u32::MAX.into()),
                // The largest integer that a file can contain.
                Some("uint64") => Some(i64::MAX.unsigned_abs()),
                _ => None,
            };
            if let Some(most) = most {
                map.entry("maximum").or_insert(most.into());
            }
            map.values_mut().for_each(bound_integers);
        }
        Value::Array(items) => items.iter_mut().for_each(bound_integers),
        _ => {}
    }
}

/// An IPv4 or IPv6 address with a port. The pattern does not check how the groups of an IPv6
/// address combine.
const ADDRESS: &str = "^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}|\\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[0-9]+)?\\]):0*(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[0-5]?[0-9]{1,4})$";

/// A path (RFC 3986 3.3) that begins with a slash.
const PATH: &str = "^/([!$&-;=@A-Z_a-z~]|%[0-9A-Fa-f]{2})*$";

/// A path in which no unreserved character, slash, backslash or control character is
/// percent-encoded. The digits of percent-encodings are in upper case.
const NORMAL_PATH: &str =
    "^/([!$&-;=@A-Z_a-z~]|%(2[0-9A-C]|3[A-F]|[46]0|5[BDE]|7[B-D]|[89A-F][0-9A-F]))*$";

/// Empty segments other than the last one, dot segments, and segments that have parameters but no
/// name.
const NOT_NORMAL_SEGMENT: &str = "//|/\\.\\.?(;|/|$)|/;";

/// A token of RFC 9110 5.6.2.
const TOKEN: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/// Fields that no edit may touch, in any mix of upper and lower case.
const FRAMING: &str = "^([Hh][Oo][Ss][Tt]|[Cc][Oo][Nn][Nn][Ee][Cc][Tt][Ii][Oo][Nn]|[Cc][Oo][Nn][Tt][Ee][Nn][Tt]-[Ll][Ee][Nn][Gg][Tt][Hh]|[Tt][Rr][Aa][Nn][Ss][Ff][Ee][Rr]-[Ee][Nn][Cc][Oo][Dd][Ii][Nn][Gg]|[Tt][Ee]|[Uu][Pp][Gg][Rr][Aa][Dd][Ee]|[Ee][Xx][Pp][Ee][Cc][Tt])$";

fn some_text() -> Value {
    json!({"minLength": 1})
}

fn at_least_1() -> Value {
    json!({"minimum": 1})
}

/// A duration above zero.
fn some_time() -> Value {
    json!({"not": {"pattern": "^[0.]+[a-z]+$"}})
}

/// The name of a header that may be edited.
fn editable() -> Value {
    json!({"pattern": TOKEN, "not": {"pattern": FRAMING}})
}

fn of_the_file() -> Meaning {
    let timeouts = [
        "Timeouts/connect_ms",
        "Timeouts/upstream_ms",
        "Timeouts/client_idle_ms",
        "Timeouts/request_head_ms",
        "Timeouts/request_body_ms",
        "Timeouts/drain_ms",
        "RouteTimeouts/connect_ms",
        "RouteTimeouts/upstream_ms",
    ];
    let mut meaning = vec![
        ("/listen", json!({"minItems": 1})),
        ("/listen/items", json!({"pattern": ADDRESS})),
        ("/workers", json!({"minimum": 1, "maximum": 1024})),
        ("Metrics/path", json!({"pattern": "^/"})),
        ("/connections_max", at_least_1()),
    ];
    meaning.extend(timeouts.map(|place| (place, at_least_1())));
    meaning
}

fn of_upstreams_and_consumers() -> Meaning {
    let weightless = json!({"required": ["weight"], "properties": {"weight": {"const": 0}}});
    vec![
        ("Upstream/name", some_text()),
        ("Upstream/targets", json!({"contains": {"not": weightless}})),
        ("Target/port", at_least_1()),
        ("Target/weight", json!({"maximum": 65_535})),
        ("Consumer/name", some_text()),
        ("Consumer/keys/items", json!({"pattern": "^[!-~]+$"})),
        // A user name ends at the first colon (RFC 7617).
        (
            "Consumer",
            json!({
                "if": {"required": ["password"], "properties": {"password": {"type": "string"}}},
                "then": {"properties": {"name": {"pattern": "^[^:]*$"}}},
            }),
        ),
    ]
}

fn of_routes() -> Meaning {
    let has = |policy: &str| json!({"contains": {"required": [policy]}});
    let once = |policy: &str| json!({"contains": {"required": [policy]}, "minContains": 0, "maxContains": 1});
    let single = ["consumer_header", "openapi", "redis_rate_limit", "soap"];
    let single: Vec<Value> = single.into_iter().map(once).collect();
    let edits = ["request_json", "response_json", "response_xslt"];
    let edits: Vec<Value> = edits.into_iter().map(has).collect();
    vec![
        ("Route/name", some_text()),
        // A route needs an upstream or a mock.
        (
            "Route",
            json!({"anyOf": [
                {"required": ["upstream"], "properties": {"upstream": {"type": "string"}}},
                {"required": ["policies"], "properties": {"policies": has("mock")}},
            ]}),
        ),
        (
            "Route",
            json!({
                "if": {"required": ["paths"], "properties": {"paths": {"const": "verbatim"}}},
                "then": {"properties": {"path": {"pattern": PATH}}},
                "else": {"properties": {"path": {
                    "pattern": NORMAL_PATH,
                    "not": {"pattern": NOT_NORMAL_SEGMENT},
                }}},
            }),
        ),
        (
            "Route/policies",
            json!({
                "allOf": single,
                "if": has("soap"),
                "then": {"not": {"anyOf": edits}},
            }),
        ),
        ("SoapChain/cache_ttl", some_time()),
    ]
}

fn of_limits() -> Meaning {
    let counted = json!({
        "if": {"required": ["per"], "properties": {"per": {"const": "header"}}},
        "then": {"required": ["header"], "properties": {"header": {"type": "string"}}},
        "else": {"properties": {"header": {"type": "null"}}},
    });
    let mut meaning = vec![
        ("RateLimitPolicy", counted.clone()),
        ("RateLimitPolicy/window", some_time()),
        ("RedisRateLimitPolicy", counted),
        // `redis` is optional in the policy's type, because a scenario may omit it.
        (
            "RedisRateLimitPolicy",
            json!({"required": ["limit", "window", "redis"]}),
        ),
        (
            "RedisRateLimitPolicy/redis",
            json!({"type": "string", "pattern": ADDRESS}),
        ),
        ("RedisRateLimitPolicy/window", some_time()),
        ("RedisRateLimitPolicy/interval", some_time()),
        ("RedisRateLimitPolicy/timeout", some_time()),
    ];
    // The schema contains `Bimodal` only in a build with faults.
    if cfg!(feature = "faults") {
        meaning.push(("Bimodal/every", at_least_1()));
    }
    meaning
}

fn of_edits() -> Meaning {
    // The allowed value of a field: visible ASCII, with spaces and tabs only between other bytes.
    let values = json!({
        "propertyNames": editable(),
        "additionalProperties": {"type": "string", "pattern": "^([!-~]([\\t -~]*[!-~])?)?$"},
    });
    let mut name = editable();
    name["type"] = "string".into();
    let renamed = json!({"propertyNames": editable(), "additionalProperties": name});
    let places = json!({"propertyNames": {"pattern": "^/([^~]|~[01])*$"}});
    vec![
        (
            "HeaderEdits/remove/items",
            json!({"not": {"pattern": FRAMING}}),
        ),
        ("HeaderEdits/rename", renamed),
        ("HeaderEdits/set", values.clone()),
        ("HeaderEdits/add", values),
        ("JsonEdits/remove/items", json!({"minLength": 1})),
        ("JsonEdits/rename", places.clone()),
        ("JsonEdits/add", places.clone()),
        ("JsonEdits/default", places),
        (
            "ConsumerHeaderPolicy/header",
            json!({"not": {"pattern": FRAMING}}),
        ),
    ]
}

fn of_responses() -> Meaning {
    vec![
        ("ApiKeyQueryPolicy/name", some_text()),
        // Printable ASCII without quotes and backslashes.
        (
            "BasicAuthPolicy/realm",
            json!({"pattern": "^[ !#-\\[\\]-~]*$"}),
        ),
        (
            "MockPolicy/content_type",
            json!({"pattern": "^[^\\x00-\\x1f\\x7f]+$"}),
        ),
        // Responses with these statuses have no body.
        (
            "MockPolicy",
            json!({
                "if": {"properties": {"status": {"enum": [204, 304]}}},
                "then": {"properties": {"body": {"const": ""}}},
            }),
        ),
    ]
}
