//! The reference gateway: its configuration, and its policies, which read what anybody sends.

use std::cell::RefCell;

use gatebench_gateway::fuzzing::{Outcome, Policies};
use gatebench_gateway::{Document, GatewayConfig};

/// A text as a configuration: mistakes point into it.
pub fn configurations(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Err(told) = Document::read("any.yaml", text) else {
        return;
    };
    assert!(!told.all().is_empty());
    for mistake in told.all() {
        let span = text.get(mistake.offset..mistake.offset + mistake.length);
        assert!(span.is_some_and(|it| !it.contains('\n')), "{mistake:?}");
        assert!(!mistake.message.is_empty() && !mistake.help.is_empty());
    }
}

thread_local! {
    static POLICIES: RefCell<Policies> = RefCell::new(policies());
}

/// Bytes as a request: nobody without a secret gets where one is asked for.
pub fn requests(data: &[u8]) {
    let outcome = POLICIES.with_borrow_mut(|policies| policies.pass(data));
    if outcome == Outcome::None || outcome == Outcome::Answered {
        return;
    }
    let has = |secret: &str| data.windows(secret.len()).any(|it| it == secret.as_bytes());
    let is_at = |path: &str| {
        let line = data.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let target = line.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
        target.starts_with(path.as_bytes())
    };
    if is_at("/basic") {
        // YWxpY2U6c2VjcmV0 is alice:secret.
        assert!(has("YWxpY2U6c2VjcmV0"), "a password was guessed");
    }
    if is_at("/jwt") {
        assert!(
            has("cK2FPsq3Pop9aCm5uFmtpbmzBPMt1lcRyvPDYaxPi0Y"),
            "a token was forged"
        );
    }
}

fn policies() -> Policies {
    let config = GatewayConfig::parse(CONFIGURATION).expect("the configuration is right");
    Policies::new(&config).expect("the configuration is right")
}

/// A route for each policy that reads what a request says.
pub const CONFIGURATION: &str = r#"
listen: ["127.0.0.1:0"]
upstreams:
  - {name: origin, keepalive: 1, targets: [{address: 127.0.0.1, port: 1}]}
consumers:
  - {name: alice, keys: [alice-key], password: secret}
routes:
  - {name: key, path: /key, upstream: origin, policies: [{api_key: {header: X-Api-Key}}]}
  - {name: query, path: /query, upstream: origin, policies: [{api_key_query: {name: key}}, {consumer_header: {header: X-Consumer}}]}
  - {name: basic, path: /basic, upstream: origin, policies: [{basic_auth: {}}]}
  - {name: jwt, path: /jwt, upstream: origin, policies: [{jwt: {keys: [{hs256: {secret: your-256-bit-secret-of-enough-bytes}}]}}]}
  - {name: json, path: /json, upstream: origin, policies: [{request_json: {add: {/a: 1}, remove: [/b], rename: {/c: d}, default: {/e/f: [2]}}}]}
  - name: contract
    path: /contract
    upstream: origin
    policies:
      - openapi:
          document: |
            openapi: 3.0.3
            paths:
              /contract/{id}:
                parameters:
                  - {name: id, in: path, required: true, schema: {type: array, items: {type: integer}}}
                  - {name: filter, in: query, style: deepObject, schema: {type: object, properties: {a: {type: number}}}}
                  - {name: list, in: query, explode: false, schema: {type: array, items: {type: boolean}}}
                  - {name: session, in: cookie, schema: {type: string, pattern: "^(a+)+$"}}
                post:
                  requestBody:
                    content:
                      application/json: {schema: {type: object, additionalProperties: {type: string, format: date}}}
                      application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: array, items: {type: integer}}}}}
                  responses: {default: {description: any}}
"#;
