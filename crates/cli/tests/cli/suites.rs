//! Every scenario of every suite in its shortest length, on the reference gateway and on nginx: what a gateway has
//! holds its cases and checks, and what it has not is *not supported*.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gatebench_lab::Library;
use gatebench_model::{LoadProfile, Suite};
use serde_json::Value;

use crate::bench::Bench;

/// Suites whose scenarios have sizes, loads of their own or a floor with requests of its own: these run as they are.
const WHOLE: [&str; 4] = ["soap", "soap-endurance", "gravitee", "kong-benchmark"];

/// What nginx has no native means for. Whatever else it says it has, it must do.
const NOT_BY_NGINX: [&str; 8] = [
    "jwt-hs256",
    "jwt-rs256",
    "json-request-edits",
    "json-response-edits",
    "pipeline",
    "soap-1",
    "httpbin-1",
    "gravitee-rate-limit-redis",
];

/// The outcome of each scenario on each gateway.
type Outcomes = BTreeMap<(String, String), String>;

fn suites() -> Vec<Suite> {
    let suites = Library::default().suites().unwrap();
    suites.into_iter().map(|it| it.document).collect()
}

/// Whether something happens to the gateway or to its upstream in the load of a suite, so that it takes seconds.
fn is_disturbed(suite: &Suite) -> bool {
    let loads = Library::default().loads().unwrap();
    let is_its = |load: &&LoadProfile| load.profile == suite.load;
    let mut loads = loads.iter().map(|it| &it.document);
    let load = loads.find(is_its).unwrap();
    load.phases.iter().any(|phase| phase.is_disturbed())
}

/// Runs these words in the shortest length, and tells what became of each trial. Everything that was measured must
/// be as its scenario says.
fn smoke(words: &str, gateways: &[&str]) -> Outcomes {
    let bench = Bench::new();
    let gateways: String = gateways
        .iter()
        .map(|it| format!(" --gateway {it}"))
        .collect();
    let ran = bench.gatebench(&format!("run {words} --smoke --out run{gateways}"));
    ran.assert_code(0);
    let mut outcomes = Outcomes::new();
    for trial in bench.kept_trials("run") {
        let path = bench.path("run/trials").join(&trial).join("trial.json");
        let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let of = |key: &str| record["trial"][key].as_str().unwrap().to_owned();
        let outcome = record["outcome"]["kind"].as_str().unwrap();
        if outcome == "completed" {
            assert_holds(&path, &record);
        }
        outcomes.insert((of("scenario"), of("variant")), outcome.to_owned());
    }
    outcomes
}

/// Cases before and after the load, and the checks of every answer in it.
#[track_caller]
fn assert_holds(path: &Path, record: &Value) {
    for proof in ["parity_before", "parity_after"] {
        let cases = record[proof]["cases"].as_array().unwrap();
        let failed: Vec<_> = cases.iter().filter(|case| case["passed"] != true).collect();
        assert!(
            failed.is_empty(),
            "{}: {proof}: {failed:#?}",
            path.display()
        );
    }
    for phase in record["phases"].as_array().unwrap() {
        let counts = &phase["counts"];
        let is_disturbed = phase["change"].is_object() || phase["failure"].is_object();
        assert!(
            counts["sent"].as_u64() > Some(0),
            "{}: {counts}",
            path.display()
        );
        if !is_disturbed {
            let nothing = serde_json::json!({});
            assert_eq!(counts["checks_failed"], nothing, "{}", path.display());
            assert_eq!(counts["errors"], nothing, "{}", path.display());
        }
    }
}

/// The reference gateway has everything, and nginx nothing of what it is known not to have.
#[track_caller]
fn assert_supported(outcomes: &Outcomes) {
    for ((scenario, variant), outcome) in outcomes {
        let lacks = variant == "nginx" && NOT_BY_NGINX.contains(&scenario.as_str());
        let is_known = variant != "nginx" || lacks;
        let expected = if lacks { "not_supported" } else { "completed" };
        if is_known {
            assert_eq!(outcome, expected, "{scenario} on {variant}");
        } else {
            let is_either = ["completed", "not_supported"].contains(&outcome.as_str());
            assert!(is_either, "{scenario} on nginx: {outcome}");
        }
    }
}

#[test]
fn scenarios_of_suites_without_loads_of_their_own_hold() {
    let plain = suites()
        .into_iter()
        .filter(|suite| !WHOLE.contains(&suite.suite.as_str()) && !is_disturbed(suite));
    let names: BTreeSet<String> = plain
        .flat_map(|suite| suite.scenarios)
        .map(|it| it.word().to_owned())
        .collect();
    assert!(names.len() > 30, "{names:?}");
    let names: Vec<String> = names.into_iter().collect();
    let words = format!("{} --no-floor", names.join(" "));
    let outcomes = smoke(&words, &["reference", "nginx"]);
    assert_eq!(outcomes.len(), names.len() * 2, "a trial is missing");
    assert_supported(&outcomes);
}

#[test]
fn what_happens_meanwhile_holds() {
    for suite in suites().into_iter().filter(is_disturbed) {
        let words = format!("{} --no-floor", suite.suite);
        assert_supported(&smoke(&words, &["reference", "nginx"]));
    }
}

#[test]
fn the_suites_of_documents_hold_at_the_floor_too() {
    for suite in WHOLE {
        let floors = smoke(suite, &["reference"]);
        let is_measured = |((_, variant), outcome): (&(String, String), &String)| {
            variant.starts_with("reference") && outcome == "completed"
        };
        assert!(floors.iter().any(is_measured), "{suite}: {floors:?}");
        assert!(
            floors.values().all(|it| it == "completed"),
            "{suite}: {floors:?}"
        );
        assert_supported(&smoke(&format!("{suite} --no-floor"), &["nginx"]));
    }
}

#[test]
fn every_suite_is_run_by_one_of_these() {
    for name in WHOLE {
        assert!(suites().iter().any(|suite| suite.suite == name), "{name}");
    }
}
