//! Every scenario of every suite in its shortest length, on the reference gateway and on nginx: what a gateway has
//! holds its cases and checks, and what it has not is *not supported*.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use gatebench_lab::Library;
use gatebench_model::{LoadProfile, Suite};
use serde_json::Value;

use crate::bench::Bench;

/// Suites whose scenarios have sizes, loads of their own or a floor with requests of its own: these run as they are.
const WHOLE: [&str; 4] = ["soap", "soap-endurance", "gravitee", "kong-benchmark"];

/// Scenarios of one run, which must end before a test loses its patience.
const RUN_SCENARIOS: usize = 16;

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
/// be as its scenario says. On a machine that does much else an answer may come too late: what did not hold is run
/// once more, alone.
fn smoke(words: &str, gateways: &[&str]) -> Outcomes {
    let (mut outcomes, failed) = smoke_once(words, gateways);
    let suite = words
        .split_whitespace()
        .next()
        .filter(|it| !it.starts_with('-'));
    for (scenario, variant) in failed.keys() {
        let gateway = gateways.iter().find(|it| variant.starts_with(**it));
        let words = format!("{} --scenario {scenario}", suite.unwrap_or("--no-floor"));
        let gateways: Vec<&str> = gateway.into_iter().copied().collect();
        let (again, failed) = smoke_once(&words, &gateways);
        assert!(
            failed.is_empty(),
            "{scenario} on {variant}, twice: {failed:#?}"
        );
        outcomes.extend(again);
    }
    outcomes
}

/// The outcomes, and what did not hold in which trials.
fn smoke_once(words: &str, gateways: &[&str]) -> (Outcomes, Outcomes) {
    let bench = Bench::new();
    let gateways: String = gateways
        .iter()
        .map(|it| format!(" --gateway {it}"))
        .collect();
    let ran = bench.gatebench(&format!("run {words} --smoke --out run{gateways}"));
    let (mut outcomes, mut failed) = (Outcomes::new(), Outcomes::new());
    for trial in bench.kept_trials("run") {
        let path = bench.path("run/trials").join(&trial).join("trial.json");
        let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let of = |key: &str| record["trial"][key].as_str().unwrap().to_owned();
        let place = (of("scenario"), of("variant"));
        let outcome = record["outcome"]["kind"].as_str().unwrap();
        let wrong = match outcome {
            "completed" => wrong(&record),
            "not_supported" => None,
            _ => Some(record["outcome"].to_string()),
        };
        if let Some(wrong) = wrong {
            failed.insert(place.clone(), wrong);
        }
        outcomes.insert(place, outcome.to_owned());
    }
    if failed.is_empty() {
        ran.assert_code(0);
    }
    (outcomes, failed)
}

/// What does not hold of the cases before and after the load, and of the checks of every answer in it.
fn wrong(record: &Value) -> Option<String> {
    for proof in ["parity_before", "parity_after"] {
        let cases = record[proof]["cases"].as_array().unwrap();
        if let Some(failed) = cases.iter().find(|case| case["passed"] != true) {
            return Some(format!("{proof}: {failed:#}"));
        }
    }
    let mut phases = record["phases"].as_array().unwrap().iter();
    let wrong = phases.find(|phase| {
        let counts = &phase["counts"];
        let is_disturbed = phase["change"].is_object() || phase["failure"].is_object();
        let nothing = serde_json::json!({});
        let holds = counts["checks_failed"] == nothing && counts["errors"] == nothing;
        counts["sent"].as_u64() == Some(0) || !(holds || is_disturbed)
    })?;
    Some(wrong["counts"].to_string())
}

/// Neither has an admin interface through which a route could be changed.
const NOT_HERE: [&str; 3] = ["admin-1", "admin-1000", "admin-under-load"];

/// The reference gateway has everything else, and nginx nothing of what it is known not to have.
#[track_caller]
fn assert_supported(outcomes: &Outcomes) {
    for ((scenario, variant), outcome) in outcomes {
        let is_nginx = variant.starts_with("nginx");
        let is_of = |names: &[&str]| names.contains(&scenario.as_str());
        let lacks = is_of(&NOT_HERE) || is_nginx && is_of(&NOT_BY_NGINX);
        let is_known = !is_nginx || lacks;
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
    for names in names.chunks(RUN_SCENARIOS) {
        // Some suites are called like a scenario.
        let words = format!("--no-floor --scenario {}", names.join(" --scenario "));
        let outcomes = smoke(&words, &["reference", "nginx"]);
        assert_eq!(outcomes.len(), names.len() * 2, "a trial is missing");
        assert_supported(&outcomes);
    }
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
