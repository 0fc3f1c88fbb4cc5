//! Tests that every error in a configuration that is correct in form but wrong in meaning is
//! reported with its place.

use gatebench_gateway::{ConfigErrors, GatewayConfig};

const GOOD: &str = r#"{
    "listen": ["127.0.0.1:1234", "[::1]:0"], "workers": 1, "access_log": false,
    "upstreams": [{"name": "origin", "keepalive": 64,
                   "targets": [{"address": "127.0.0.1", "port": 1, "weight": 1}]}],
    "consumers": [{"name": "alice", "keys": ["k"]}],
    "routes": [{"name": "json", "path": "/json", "strip_path": false, "upstream": "origin",
                "policies": [{"api_key": {"header": "X-Api-Key"}},
                             {"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}}],
                "test_delay": {"request_ns": 1, "response_ns": 2,
                               "bimodal": {"every": 10, "request_ns": 3, "response_ns": 4}}}],
    "timeouts": {"connect_ms": 1}
}"#;

fn places(text: &str) -> Vec<String> {
    let config: GatewayConfig = serde_json::from_str(text).unwrap();
    let ConfigErrors(errors) = config.validate().unwrap_err();
    errors.into_iter().map(|error| error.at).collect()
}

#[test]
fn a_good_file_is_read_whole() {
    let config = GatewayConfig::parse(GOOD).unwrap();
    assert_eq!(
        (config.timeouts.connect_ms, config.timeouts.upstream_ms),
        (1, 30_000)
    );
    assert_eq!(config.routes[0].policies.len(), 2);
    assert_eq!(
        config.routes[0].test_delay.unwrap().bimodal.unwrap().every,
        10
    );
}

#[test]
fn mistakes_of_meaning_are_reported_together_with_their_places() {
    let text = GOOD
        .replace("127.0.0.1:1234", "localhost")
        .replace(r#""upstream": "origin""#, r#""upstream": "orig""#)
        .replace("\"/json\"", "\"json?\"")
        .replace("text/plain", r"text\u0001plain")
        .replace(r#""connect_ms": 1"#, r#""connect_ms": 0"#)
        .replace(r#""weight": 1"#, r#""weight": 0"#)
        .replace(r#"["k"]"#, r#"["k", "k", "ä"]"#)
        .replace(r#""every": 10"#, r#""every": 0"#);
    assert_eq!(
        places(&text),
        [
            "/listen/0",
            "/consumers/0/keys/1",
            "/consumers/0/keys/2",
            "/upstreams/0/targets",
            "/routes/0/path",
            "/routes/0/upstream",
            "/routes/0/policies/1/mock/content_type",
            "/routes/0/test_delay/bimodal/every",
            "/timeouts/connect_ms",
        ]
    );
}

#[test]
fn policies_are_validated() {
    let policies = r#"[
        {"rate_limit": {"limit": 1, "window": "0s", "per": "header"}},
        {"rate_limit": {"limit": 1, "window": "1s", "header": "X-Client"}},
        {"request_headers": {"set": {"Host": "x"}, "add": {"A b": "1", "C": "\u000a"}}},
        {"basic_auth": {"realm": "a \"quote\""}},
        {"jwt": {"keys": [{"hs256": {"secret": "short"}}]}},
        {"request_json": {"remove": ["/a"], "add": {"/a/b": 1}}},
        {"consumer_header": {"header": "X-A"}},
        {"consumer_header": {"header": "X-B"}}
    ]"#;
    let start = GOOD.find("[{\"api_key").unwrap();
    let end = GOOD.find("\"test_delay\"").unwrap();
    let text = [&GOOD[..start], policies, ", ", &GOOD[end..]].concat();
    let at = |place: &str| format!("/routes/0/policies/{place}");
    let expected = [
        at("0/rate_limit/window"),
        at("0/rate_limit"),
        at("1/rate_limit/header"),
        at("2/request_headers"),
        at("2/request_headers"),
        at("2/request_headers"),
        at("3/basic_auth/realm"),
        at("4/jwt/keys/0"),
        at("5/request_json"),
        at("7/consumer_header"),
    ];
    assert_eq!(places(&text), expected);
}

#[cfg(not(feature = "soap"))]
#[test]
fn a_policy_that_was_left_out_of_the_build_names_its_feature() {
    for (policy, place) in [
        (r#"{"soap": {"request": {}}}"#, "soap"),
        (
            r#"{"response_xslt": {"stylesheet": "<a/>"}}"#,
            "response_xslt",
        ),
    ] {
        let text = GOOD.replace(r#"{"api_key": {"header": "X-Api-Key"}}"#, policy);
        let config: GatewayConfig = serde_json::from_str(&text).unwrap();
        let ConfigErrors(errors) = config.validate().unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].at, format!("/routes/0/policies/0/{place}"));
        assert!(errors[0].message.contains("feature `soap`"), "{errors:?}");
    }
}

#[test]
fn names_and_paths_are_unique() {
    let mut config = GatewayConfig::parse(GOOD).unwrap();
    config.routes.push(config.routes[0].clone());
    config.upstreams.push(config.upstreams[0].clone());
    let ConfigErrors(errors) = config.validate().unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| error.at.as_str()).collect();
    assert_eq!(
        found,
        ["/upstreams/1/name", "/routes/1/name", "/routes/1/path"]
    );
}
