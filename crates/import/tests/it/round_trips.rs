//! Tests that the routes and policies of the repository's scenarios stay the same when a gateway's
//! folder renders a scenario and the result is imported again.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;

use gatebench_config::read_all;
use gatebench_import::TextKind;
use gatebench_model::{Policy, Scenario};
use gatebench_testbed::gateway::{Catalogue, Wiring, input_for, render};

use crate::common::{imported, scenario};

/// The maximum number of routes and consumers; longer lists are truncated.
const MANY: usize = 5;

/// The scenarios in the folder `scenarios`, kept because reading them takes seconds.
static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let mut all = Vec::new();
    scenarios(Path::new("../../scenarios"), &mut all);
    all
});

fn scenarios(folder: &Path, found: &mut Vec<Scenario>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|it| it == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            if text.lines().any(|line| line.starts_with("scenario:")) {
                found.extend(read_all::<Scenario>(&path).unwrap());
            }
        }
    }
}

fn rendered(gateway: &str, file: &str, scenario: &Scenario) -> String {
    let target: SocketAddr = "127.0.0.1:2".parse().unwrap();
    let more: Vec<_> = scenario
        .more_upstreams
        .keys()
        .map(|name| (name.clone(), target))
        .collect();
    let wiring = Wiring {
        binary: Path::new("/gateway"),
        version: "1.0",
        work: Path::new("/w"),
        listen: "127.0.0.1:1".parse().unwrap(),
        targets: &[target],
        more_upstreams: &more,
        keepalive: 64,
        cores: &[0],
        access_log: false,
        metrics: scenario.metrics.is_some().then_some(target),
        profile: None,
        control_plane: None,
        database: None,
        weights: 0,
    };
    let folder = Catalogue::default().resolve(gateway).unwrap();
    let files = render(&folder, &input_for(scenario, &wiring)).unwrap();
    files
        .into_iter()
        .find(|it| it.path == Path::new(file))
        .unwrap()
        .text
}

/// Returns the policies in a fixed order, because gateways differ in their order.
fn sorted(policies: &[Policy]) -> Vec<String> {
    let word = |policy: &Policy| match policy {
        // The realm is omitted, because APISIX has a fixed one.
        Policy::BasicAuth(_) => "BasicAuth".to_owned(),
        policy => format!("{policy:?}"),
    };
    let mut words: Vec<String> = policies.iter().map(word).collect();
    words.sort();
    words
}

/// Checks that the routes and policies of the suitable scenarios survive rendering and import, and
/// returns the names of these scenarios.
fn check(
    gateway: &str,
    file: &str,
    kind: TextKind,
    is_expected: impl Fn(&Scenario) -> bool,
) -> Vec<String> {
    let folder = Catalogue::default().resolve(gateway).unwrap();
    let mut names = Vec::new();
    for before in SCENARIOS.iter() {
        let mut before = before.clone();
        before.routes.truncate(MANY);
        before.consumers.truncate(MANY);
        before.upstreams = 1;
        let is_possible = before.later.is_none() && before.targets == 1;
        if folder.claims(&before).is_err() || !is_possible || !is_expected(&before) {
            continue;
        }
        let text = rendered(gateway, file, &before);
        let after = scenario(&imported(kind, file, &text), "scenario.yaml");
        let name = &before.scenario;
        assert!(
            after.not_understood.is_empty(),
            "{name}: {:?}",
            after.not_understood
        );
        for route in &before.routes {
            let same = after.routes.iter().find(|it| it.path == route.path);
            let same = same.unwrap_or_else(|| panic!("{name}: {} is missing", route.path));
            assert_eq!(
                same.strip_path,
                route.strip_path && route.path != "/",
                "{name}"
            );
            assert_eq!(
                sorted(&same.policies),
                sorted(&route.policies),
                "{name}: {}",
                route.path
            );
        }
        assert_eq!(after.routes.len(), before.routes.len(), "{name}");
        assert_eq!(after.metrics.is_some(), before.metrics.is_some(), "{name}");
        names.push(name.clone());
    }
    names
}

#[test]
fn scenarios_survive_a_round_trip_through_kong() {
    // The Kong folder edits JSON with a script, from which an import cannot restore the policy.
    let is_expected = |it: &Scenario| {
        let policies = it.policies();
        !policies.contains("request_json") && !policies.contains("response_json")
    };
    let names = check("kong", "kong.json", TextKind::Kong, is_expected);
    assert!(names.len() >= 40, "{names:?}");
    let soap = names.iter().filter(|it| it.starts_with("soap-")).count();
    assert!(soap >= 14, "{names:?}");
}

#[test]
fn scenarios_survive_a_round_trip_through_apisix() {
    let names = check("apisix", "apisix.yaml", TextKind::Apisix, |it| {
        it.metrics.is_none()
    });
    assert!(names.len() >= 20, "{names:?}");
}
