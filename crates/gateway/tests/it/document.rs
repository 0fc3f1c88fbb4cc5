//! Tests that all errors in a configuration file are reported together, each with its place.

use gatebench_gateway::{Document, Gateway, GatewayConfig};

const GOOD: &str = r#"
listen: ["127.0.0.1:0"]
upstreams:
  - name: origin
    keepalive: 4
    targets:
      - {address: 127.0.0.1, port: 1}
consumers:
  - {name: alice, keys: [alice-key]}
routes:
  - name: json
    path: /json
    upstream: origin
    policies:
      - api_key: {header: X-Api-Key}
      - response_json: {add: {/hello: world}}
      - rate_limit: {limit: 10, window: 1m, per: consumer}
timeouts:
  connect_ms: 500
"#;

/// Returns each mistake in a file as `line:column: message; remedy`.
fn mistakes(text: &str) -> Vec<String> {
    let wrong = Document::read("g.yaml", text).unwrap_err();
    let lines = wrong.all().iter().map(ToString::to_string);
    lines
        .map(|line| line.strip_prefix("g.yaml:").unwrap().to_owned())
        .collect()
}

#[test]
fn yaml_and_json_are_read() {
    let config = Document::read("g.yaml", GOOD).unwrap().config;
    assert_eq!((config.timeouts.connect_ms, config.routes.len()), (500, 1));
    assert_eq!(config.routes[0].policies.len(), 3);
    let tree: serde_json::Value = serde_json::from_str(
        r#"{"listen": ["127.0.0.1:0"], "routes": [], "timeouts": {"connect_ms": 7}}"#,
    )
    .unwrap();
    let pretty = serde_json::to_string_pretty(&tree).unwrap();
    for text in [tree.to_string(), pretty] {
        assert_eq!(GatewayConfig::parse(&text).unwrap().timeouts.connect_ms, 7);
    }
}

#[test]
fn mistakes_of_form_and_meaning_are_reported_together() {
    let text = GOOD
        .replace("upstream: origin", "upstream: orgin")
        .replace("window: 1m", "window: soon")
        .replace("connect_ms: 500", "connct_ms: 0")
        .replace("keepalive: 4", "keepalive: many")
        .replace("api_key: {", "api_kee: {");
    let found = mistakes(&text);
    for (expected, line) in [
        ("keepalive", "5:16"),
        ("api_kee", "15:9"),
        ("window", "17:41"),
        ("connct_ms", "19:3"),
        // An error in form does not hide the others.
        ("there is no upstream \"orgin\"", "13:15"),
        ("a timeout of 0", "19:14"),
    ] {
        assert!(
            found
                .iter()
                .any(|one| one.starts_with(line) && one.contains(expected)),
            "{line} {expected} in {found:#?}"
        );
    }
    assert_eq!(found.len(), 6, "each mistake is reported once: {found:#?}");
    let meaning = GOOD
        .replace("upstream: origin", "upstream: orgin")
        .replace("window: 1m", "window: 0s")
        .replace("127.0.0.1:0", "localhost")
        .replace("connect_ms: 500", "conect_ms: 0");
    let found = mistakes(&meaning);
    assert_eq!(found.len(), 5, "{found:#?}");
    let first = "2:10: the address \"localhost\" is not an IP address with a port; write it";
    assert!(found[0].starts_with(first), "{found:#?}");
    assert!(found[1].starts_with("13:15: there is no upstream \"orgin\"; write one of: origin"));
    assert!(found[2].starts_with("17:41: the window is zero; write"));
    assert!(
        found[3].contains("did you mean `connect_ms`?"),
        "{found:#?}"
    );
    assert!(
        found[4].starts_with("19:14: a timeout of 0 would always expire"),
        "{found:#?}"
    );
}

#[test]
fn mistakes_found_in_preparation_have_a_place() {
    let text = GOOD.replace("address: 127.0.0.1", "address: no-such-host.invalid");
    let document = Document::read("g.yaml", &text).unwrap();
    let wrong = Gateway::new(&document.config).err().unwrap();
    let line = document.mistakes(&wrong).unwrap().all()[0].to_string();
    assert!(
        line.starts_with("g.yaml:7:19: the host \"no-such-host.invalid\""),
        "{line}"
    );
    assert!(line.ends_with("write an IP address"), "{line}");
}

#[test]
fn a_check_reports_mistakes_found_in_preparation() {
    let text = GOOD
        .replace("address: 127.0.0.1", "address: no-such-host.invalid")
        .replace("connect_ms: 500", "conect_ms: 0")
        + "tls: {certificate: no-such-file.pem, key: no-such-file.pem}\n";
    let text = text.replace(
        "routes:\n",
        "routes:\n  - name: soap\n    path: /soap\n    upstream: origin\n    policies:\n      - soap: {request: {xslt_transform_before: \"<a/>\", xsd_api_schema: \"<a/>\"}}\n",
    );
    let wrong = Document::check("g.yaml", &text).unwrap_err();
    let found: Vec<String> = wrong.all().iter().map(ToString::to_string).collect();
    for expected in [
        "no-such-host.invalid",
        "a timeout of 0",
        "no-such-file.pem",
        "did you mean `connect_ms`?",
        "15:49: the document cannot be used",
        "15:73: the document cannot be used",
    ] {
        assert!(
            found.iter().any(|one| one.contains(expected)),
            "{expected} in {found:#?}"
        );
    }
    assert_eq!(found.len(), 6, "each mistake is reported once: {found:#?}");
    assert!(Document::check("g.yaml", GOOD).is_ok());
}
