//! Tests the rules for admin interfaces.

use gatebench_config::parse;
use gatebench_model::Scenario;

#[test]
fn the_effect_of_the_route_can_be_observed() {
    let text = |created: &str, updated: &str| {
        format!(
            "{{scenario: s, title: t, upstream: ping, routes: [{{name: r, path: /ping}}], requests: [{{path: /ping}}], \
                 admin: {{rounds: 1, route: {{name: a, path: {created}}}, updated_path: {updated}, ask: /ping}}}}"
        )
    };
    assert!(parse::<Scenario>("s.yaml", &text("/a", "/b")).is_ok());
    let at_once = text("/a", "/b, under_load_every: 0s");
    assert!(parse::<Scenario>("s.yaml", &at_once).is_err());
    for (created, updated) in [("/ping/x", "/b"), ("/a", "/ping"), ("/a", "/a")] {
        let mistakes = parse::<Scenario>("s.yaml", &text(created, updated)).unwrap_err();
        assert_eq!(mistakes.all().len(), 1, "{created} {updated}");
    }
}
