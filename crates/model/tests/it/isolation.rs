//! Tests the scenarios of isolation tests.

use gatebench_config::parse;
use gatebench_model::{Isolation, Scenario};

fn scenario(groups: &str) -> Scenario {
    let text = format!(
        "{{scenario: s, title: t, upstream: ping, routes: [{{name: r, path: /}}], groups: [{groups}]}}"
    );
    parse::<Scenario>("s.yaml", &text).unwrap()
}

#[test]
fn the_healthy_twin_sends_the_good_requests_in_every_group() {
    let one = "{name: bad, share: 3, requests: [{path: /bad}]}";
    let two = "{name: good, share: 1, requests: [{path: /ping}]}";
    let failing = scenario(&format!("{one}, {two}"));
    let (isolation, [first, healthy, again]) = Isolation::of(&failing, None).unwrap();
    assert_eq!(isolation.group, "good");
    assert_eq!(
        (isolation.healthy.as_str(), isolation.again.as_str()),
        ("s-healthy", "s-healthy-again")
    );
    assert_eq!(first, failing);
    let paths = |of: &Scenario| -> Vec<String> {
        of.load_requests()
            .map(|request| request.path.clone())
            .collect()
    };
    assert_eq!(paths(&healthy), ["/ping", "/ping"]);
    assert_eq!(
        healthy.groups[0].share,
        Some(3.0),
        "the shares stay the same"
    );
    assert_eq!(healthy.groups, again.groups);
    let named = Isolation::of(&failing, Some("bad")).unwrap().0;
    assert_eq!(named.group, "bad");
}

#[test]
fn a_scenario_that_cannot_show_isolation_is_an_error() {
    let one = scenario("{name: good, requests: [{path: /ping}]}");
    let error = Isolation::of(&one, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scenario 's' has no second group whose requests could fail"
    );
    let two = scenario("{name: a, requests: [{path: /a}]}, {name: b, requests: [{path: /b}]}");
    let error = Isolation::of(&two, Some("c")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scenario 's' has no group 'c'; its groups are 'a', 'b'"
    );
}
