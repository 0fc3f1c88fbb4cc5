//! Tests the rules for policies.

use gatebench_config::parse;
use gatebench_model::Scenario;

fn mistakes(policies: &str) -> Vec<(usize, String)> {
    let text = format!(
        "scenario: s\ntitle: t\nupstream: go-bench\nconsumers: [{{name: a, keys: [k], password: p}}]\n\
             requests: [{{path: /json/valid}}]\nroutes:\n  - name: r\n    path: /json\n    policies:\n{policies}"
    );
    match parse::<Scenario>("s.yaml", &text) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes
            .all()
            .iter()
            .map(|one| (one.line - 9, one.message.clone()))
            .collect(),
    }
}

#[test]
fn valid_policies_are_accepted() {
    let good = "
      - api_key: {header: X-Api-Key}
      - basic_auth: {}
      - jwt: {keys: [{hs256: {secret: 0123456789abcdef0123456789abcdef, id: one}}], issuer: me, leeway: 5s}
      - jwt: {jwks: {keys: [{kty: oct, k: AAAA}]}}
      - rate_limit: {limit: 10, window: 1m, per: consumer, headers: true}
      - rate_limit: {limit: 10, window: 1m, per: header, header: X-Client}
      - request_size_limit: {max_bytes: 1000}
      - request_headers: {remove: [A], rename: {B: C}, set: {D: e}, add: {F: g}}
      - response_json: {remove: [/a], rename: {/b: c}, add: {/d/-: [1, {e: null}]}, default: {/f: 1.5}}
";
    assert_eq!(mistakes(good), []);
}

#[test]
fn a_policy_that_a_route_can_have_once_is_refused_the_second_time() {
    let found = mistakes(
        "      - api_key: {header: X-Api-Key}
      - consumer_header: {header: X-A}
      - consumer_header: {header: X-B}
      - redis_rate_limit: {limit: 1, window: 1s}
      - rate_limit: {limit: 1, window: 1s}
      - rate_limit: {limit: 2, window: 1s}
      - redis_rate_limit: {limit: 2, window: 1s}
",
    );
    let expected = [
        (3, "the route has a second `consumer_header`".to_owned()),
        (7, "the route has a second `redis_rate_limit`".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_mistake_is_reported_at_its_line() {
    let found = mistakes(
        "      - basic_auth: {realm: 'a \"b\"'}
      - jwt: {issuer: me}
      - jwt: {keys: [{hs256: {secret: short}}, {rs256: {public_key: none}}]}
      - rate_limit: {limit: 0, window: 0s}
      - rate_limit: {limit: 1, window: 1s, per: header}
      - rate_limit: {limit: 1, window: 1s, header: X-Client}
      - request_headers: {remove: [Host], set: {'A b': x}, add: {C: ' x'}}
      - request_json: {remove: [/a], add: {/a/b: 1}}
      - response_json: {add: {b: 1}}
      - rate_limits: {limit: 1, window: 1s}
",
    );
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(
        lines,
        [1, 2, 3, 3, 4, 4, 5, 6, 7, 7, 7, 8, 9, 10],
        "{found:#?}"
    );
}

#[test]
fn a_limit_per_consumer_needs_a_policy_that_identifies_the_consumer() {
    let limit = "      - rate_limit: {limit: 1, window: 1s, per: consumer}\n";
    assert_eq!(mistakes(limit).len(), 1);
    assert_eq!(
        mistakes(&format!("{limit}      - basic_auth: {{}}\n")).len(),
        1
    );
    assert_eq!(mistakes(&format!("      - basic_auth: {{}}\n{limit}")), []);
}
