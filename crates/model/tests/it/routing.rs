//! Tests which routes requests match, and which requests the gateway itself responds to.

use std::collections::BTreeSet;

use gatebench_config::parse;
use gatebench_model::{ParityCase, Policy, Request, Scenario};

const TEXT: &str = "
scenario: s
title: t
upstream: go-bench
routes:
  - {name: all, path: /, strip_path: true}
  - {name: size, path: /size, policies: [api_key: {header: X-Api-Key}]}
  - {name: hello, path: /size/hello, policies: [mock: {status: 200, content_type: text/plain, body: x}]}
consumers: [{name: a, keys: [k]}]
requests: [{path: /size/350B}]
";

#[test]
fn the_longest_prefix_wins_and_the_query_does_not_count() {
    let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
    let name = |path| scenario.route_of(path).map(|route| route.name.as_str());
    assert_eq!(name("/size/350B"), Some("size"));
    assert_eq!(name("/size/hello?x"), Some("hello"));
    assert_eq!(name("/?q=/size"), Some("all"));
    assert_eq!(name("/sizes"), Some("all"));
    assert_eq!(name("elsewhere"), None);
}

#[test]
fn policies_come_from_the_routes_and_the_schema_lists_their_kinds() {
    let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
    assert_eq!(scenario.policies(), BTreeSet::from(["api_key", "mock"]));
    let schema = gatebench_model::schema(gatebench_model::FileKind::Scenario);
    let branches = schema["$defs"]["Policy"]["oneOf"].as_array().unwrap();
    let words = branches
        .iter()
        .map(|branch| branch["required"][0].as_str().unwrap());
    assert!(words.eq(Policy::KINDS));
}

#[test]
fn a_load_of_requests_that_the_gateway_responds_to_has_no_direct_variant() {
    let mut scenario: Scenario = parse("s.yaml", TEXT).unwrap();
    assert!(scenario.has_direct());
    scenario.requests[0].path = "/size/hello".into();
    assert!(!scenario.has_direct());
}

#[test]
fn the_gateway_refuses_requests_unless_a_parity_case_reaches_the_upstream() {
    let mut scenario: Scenario = parse("s.yaml", TEXT).unwrap();
    let mut request = scenario.requests[0].clone();
    assert!(!scenario.gateway_responds_to(&request));
    request.checks = vec![gatebench_model::Check::Status(401)];
    assert!(scenario.gateway_responds_to(&request));
    let elsewhere = Request {
        path: "/other".into(),
        ..request.clone()
    };
    assert!(
        !scenario.gateway_responds_to(&elsewhere),
        "no policy refuses it"
    );
    let name = "the upstream refuses";
    scenario.parity = vec![ParityCase::new(name, request.clone(), true)];
    assert!(!scenario.gateway_responds_to(&request));
    scenario.parity[0].reaches_upstream = false;
    scenario.requests = vec![request];
    assert!(!scenario.has_direct());
}
