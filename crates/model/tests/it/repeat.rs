//! Tests items of a scenario with `repeat`.

use gatebench_config::parse;
use gatebench_model::{Check, Scenario};

const TEXT: &str = "
scenario: s
title: t
upstream: go-bench
routes:
  - {repeat: 100, name: 'r-{{ index }}', path: '/r{{index}}'}
groups:
  - repeat: 100
    name: 'g-{{ index }}'
    requests:
      - path: '/r{{ index }}/json'
        body: 'n={{ index }}'
        checks: [{body_contains: 'r{{ index }}'}]
";

#[test]
fn a_few_lines_describe_a_hundred_groups_and_routes() {
    let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
    assert_eq!((scenario.routes.len(), scenario.groups().len()), (100, 100));
    let last = &scenario.groups[99];
    let request = &last.requests[0];
    assert_eq!(
        (last.name.as_str(), request.path.as_str()),
        ("g-100", "/r100/json")
    );
    assert_eq!(request.body.as_ref().unwrap().text(), Some("n=100"));
    assert_eq!(request.checks, [Check::BodyContains("r100".into())]);
    assert_eq!(scenario.route_of(&request.path).unwrap().name, "r-100");
}

#[test]
fn a_mistake_in_every_copy_is_reported_once() {
    let text = TEXT.replace("'/r{{ index }}/json'", "'/x{{ index }}/json'");
    let mistakes = parse::<Scenario>("s.yaml", &text).unwrap_err();
    assert_eq!(mistakes.all().len(), 1, "{}", mistakes.render(false, 100));
    assert_eq!(mistakes.all()[0].line, 11);
}

#[test]
fn repeated_requests_may_have_the_weights_of_a_normal_distribution() {
    let requests = "requests:
  - repeat: 100
    path: '/r{{ index }}'
    normal: {mean: 50, standard_deviation: 7.69}
";
    let text = format!("{}{requests}", TEXT.split("groups:").next().unwrap());
    let scenario: Scenario = parse("s.yaml", &text).unwrap();
    let weight = |path: &str| {
        let mut requests = scenario.requests.iter();
        requests.find(|it| it.path == path).map(|it| it.weight)
    };
    assert_eq!(weight("/r50"), Some(1_000.0));
    assert_eq!(weight("/r45"), weight("/r55"));
    let one_deviation = weight("/r58").unwrap() / weight("/r50").unwrap();
    assert!((one_deviation - (-0.5 * (8.0_f64 / 7.69).powi(2)).exp()).abs() < 1e-12);
    // These copies are omitted: their weights would be less than a millionth of the weight at the
    // mean.
    assert_eq!((weight("/r1"), weight("/r99")), (None, None));
}

#[test]
fn a_distribution_of_weights_needs_copies() {
    let requests = "requests: [{path: /r1, normal: {mean: 1, standard_deviation: 1}}]\n";
    let text = format!("{}{requests}", TEXT.split("groups:").next().unwrap());
    let mistakes = parse::<Scenario>("s.yaml", &text).unwrap_err();
    let expected = "s.yaml:7:24: `normal` is valid only for a repeated request; \
                    add `repeat`, or write a `weight`";
    let found: Vec<String> = mistakes.all().iter().map(ToString::to_string).collect();
    assert!(found.contains(&expected.to_owned()), "{found:?}");
}
