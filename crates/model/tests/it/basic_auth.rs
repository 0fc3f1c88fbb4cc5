//! Tests the key `basic_auth` of requests.

use gatebench_config::parse;
use gatebench_model::Scenario;

const TEXT: &str = "
scenario: s
title: t
upstream: go-bench
routes:
  - {name: all, path: /, policies: [basic_auth: {}]}
consumers:
  - {repeat: 2, name: 'user-{{ index }}', password: 'a:b-{{ index }}'}
requests:
  - repeat: 2
    path: /json/valid
    headers: {Accept: '*/*'}
    basic_auth: {name: 'user-{{ index }}', password: 'a:b-{{ index }}'}
parity:
  - name: the upstream is reached
    request: {path: /json/valid, basic_auth: {name: Aladdin, password: open sesame}}
    reaches_upstream: true
";

#[test]
fn credentials_become_the_header_of_the_request() {
    let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
    let headers = |index: usize| {
        let headers = scenario.requests[index].headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_str()))
    };
    let accept = ("Accept", "*/*");
    let of = |value| [accept, ("Authorization", value)];
    assert!(headers(0).eq(of("Basic dXNlci0xOmE6Yi0x")));
    assert!(headers(1).eq(of("Basic dXNlci0yOmE6Yi0y")));
    // The example of RFC 7617, section 2.
    let case = &scenario.parity[0].request.headers["Authorization"];
    assert_eq!(case, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

#[test]
fn a_mistake_in_repeated_credentials_is_reported_once() {
    let text = TEXT.replace("basic_auth: {name: 'user-{{ index }}', ", "basic_auth: {");
    let mistakes = parse::<Scenario>("s.yaml", &text).unwrap_err();
    let found: Vec<String> = mistakes.all().iter().map(ToString::to_string).collect();
    let of_credentials = found.iter().filter(|it| it.contains("`basic_auth`"));
    assert_eq!(of_credentials.count(), 1, "{found:?}");
}
