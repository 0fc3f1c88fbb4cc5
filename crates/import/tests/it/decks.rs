//! Tests a decK file with the routes and plug-ins of the `soap` suite, like the file of the
//! published load test that the suite repeats. Each route must yield the policies of the scenario
//! with the same name.

use std::fs;
use std::path::Path;

use gatebench_config::read_all;
use gatebench_import::{Effect, Options, TextKind, import};
use gatebench_model::Scenario;

use crate::common::{inputs, scenario};

const SCENARIOS: &str = "../../scenarios/published/soap";

/// Returns the deck with the definitions in place of their names.
fn deck() -> String {
    let mut text = fs::read_to_string(inputs().join("soap-deck.yaml")).unwrap();
    for folder in ["definitions", "openapi"] {
        for entry in fs::read_dir(Path::new(SCENARIOS).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let definition = fs::read_to_string(&path).unwrap();
            let quoted = serde_json::to_string(&definition).unwrap();
            text = text.replace(&format!("'@{name}'"), &quoted);
        }
    }
    assert!(!text.contains("'@"), "a definition is missing");
    text
}

#[test]
fn each_route_becomes_the_scenario_of_its_name() {
    let mut options = Options::new("deck.yaml", "soap");
    options.each_route = true;
    let folder = import(TextKind::Kong, &deck(), &options).unwrap();
    assert_eq!(
        folder.notes_with(Effect::NotUnderstood).count(),
        0,
        "{:?}",
        folder.notes
    );
    let files = fs::read_dir(SCENARIOS).unwrap();
    let files = files.map(|it| it.unwrap().path());
    // The folder also contains a suite, loads and tables, which are not scenarios.
    let included: Vec<Scenario> = files
        .filter_map(|path| read_all(&path).ok())
        .flatten()
        .collect();
    let mut count = 0;
    for file in folder.files.iter().filter(|it| {
        it.path.ends_with("-0.yaml")
            || it.path.starts_with("soap-")
            || it.path.starts_with("httpbin-")
    }) {
        let after = scenario(&folder, &file.path);
        let name = file.path.strip_suffix(".yaml").unwrap();
        assert_eq!(after.scenario, name);
        let before = included.iter().find(|it| it.scenario == name).unwrap();
        assert_eq!(
            after.routes[0].policies, before.routes[0].policies,
            "{name}"
        );
        assert_eq!(
            after.routes[0].strip_path, before.routes[0].strip_path,
            "{name}"
        );
        assert_eq!(after.upstream, before.upstream, "{name}");
        assert_eq!(after.transport, before.transport, "{name}");
        assert_eq!(after.more_upstreams, before.more_upstreams, "{name}");
        count += 1;
    }
    assert_eq!(
        count, 15,
        "eleven with SOAP, three with httpbin, one with go-bench"
    );
}
