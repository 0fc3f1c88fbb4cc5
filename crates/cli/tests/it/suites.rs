//! Runs the scenarios of the suites with `--smoke` on the reference gateway, and many of them on
//! nginx. If a gateway lacks a feature that a scenario needs, the scenario must be *not supported*.
//! Otherwise, all parity cases must pass, at the latest when the scenario is repeated, and requests
//! may fail only in loads with a change or a failure. The test of cold starts examines a report
//! instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gatebench_model::{LoadProfile, Policy, Scenario, Suite, SuiteScenario};
use gatebench_runner::Library;
use serde_json::Value;

use crate::bench::Bench;
use crate::turns::turn;

/// Suites that run unchanged, because their scenarios define sizes, loads or direct requests.
const WHOLE_OF_SOAP: [&str; 2] = ["soap", "soap-endurance"];
const WHOLE_OF_OTHERS: [&str; 2] = ["gravitee", "kong-benchmark"];

fn is_whole(suite: &str) -> bool {
    WHOLE_OF_SOAP.contains(&suite) || WHOLE_OF_OTHERS.contains(&suite)
}

/// The maximum number of scenarios in one run, chosen so that the run ends before the test times
/// out.
const RUN_SCENARIOS: usize = 16;

/// Features that scenarios need but the reference gateway lacks. The reference gateway must have
/// all others.
const NOT_BY_REFERENCE: [&str; 2] = ["admin", "control_plane"];
const NOT_BY_NGINX: [&str; 12] = [
    "admin",
    "api_key_query",
    "consumer_header",
    "control_plane",
    "jwt",
    "openapi",
    "rate_limit.any_rate",
    "rate_limit.headers",
    "redis_rate_limit",
    "request_json",
    "response_json",
    "soap",
];
const NOT_BY_NGINX_WITH_LUA: [&str; 5] = [
    "control_plane",
    "metrics",
    "openapi",
    "soap.gzip",
    "soap.parameters",
];

/// The installed path of the module that runs stylesheets in nginx.
const XSLT_MODULE: &str = "/usr/lib/nginx/modules/ngx_http_xslt_filter_module.so";

/// The outcome of each scenario on each gateway.
type Outcomes = BTreeMap<(String, String), String>;

fn suites() -> Vec<Suite> {
    let suites = Library::default().suites().unwrap();
    suites.into_iter().map(|it| it.document).collect()
}

/// Reports whether a load contains a change or a failure.
fn is_disturbed(load: &str) -> bool {
    let loads = Library::default().loads().unwrap();
    let is_it = |load_of: &&LoadProfile| load_of.profile == load;
    let mut loads = loads.iter().map(|it| &it.document);
    let load = loads.find(is_it).unwrap();
    load.phases.iter().any(|phase| phase.is_disturbed())
}

/// Returns the scenarios of a suite whose loads contain a change or a failure.
fn disturbed(suite: &Suite) -> Vec<String> {
    let scenarios = suite.scenarios.iter();
    let is_its = |it: &&SuiteScenario| is_disturbed(it.load(false).unwrap_or(&suite.load));
    scenarios
        .filter(is_its)
        .map(|it| it.word().to_owned())
        .collect()
}

/// Runs a command at the shortest length, and returns the outcome of each trial. On a busy machine,
/// a response may be late, so failed scenarios are run once more, alone; they must then pass.
fn smoke(words: &str, gateways: &[&str]) -> Outcomes {
    let (mut outcomes, failed) = smoke_once(words, gateways);
    let suite = words
        .split_whitespace()
        .next()
        .filter(|it| !it.starts_with('-'));
    for (scenario, variant) in failed.keys() {
        let gateway = gateways.iter().find(|it| variant.starts_with(**it));
        let direct = words.split_whitespace().find(|it| *it == "--no-direct");
        let alone = [suite, direct, Some("--scenario"), Some(scenario)];
        let words = alone.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let gateways: Vec<&str> = gateway.into_iter().copied().collect();
        let (again, failed) = smoke_once(&words, &gateways);
        assert!(
            failed.is_empty(),
            "{scenario} failed twice on {variant}: {failed:#?}"
        );
        outcomes.extend(again);
    }
    outcomes
}

/// Returns the outcome of each trial, and the reason for each failure.
fn smoke_once(words: &str, gateways: &[&str]) -> (Outcomes, Outcomes) {
    let bench = Bench::new();
    let gateways: String = gateways
        .iter()
        .map(|it| format!(" --gateway {it}"))
        .collect();
    let ran = bench.gatebench(&format!("run {words} --smoke --dir run{gateways}"));
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

/// Returns the first failed parity case or, if there is none, the counts of the first load that
/// sent nothing or has errors or failed checks. Errors and failed checks are allowed in loads with
/// a change or a failure. Returns `None` if nothing is wrong.
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

fn has_everything(variant: &str, scenario: &Scenario) -> bool {
    let mut lacked: Vec<&str> = match variant {
        it if it.starts_with("nginx-lua") => NOT_BY_NGINX_WITH_LUA.into(),
        it if it.starts_with("nginx") => NOT_BY_NGINX.into(),
        _ => NOT_BY_REFERENCE.into(),
    };
    let is_reference = variant.starts_with("reference");
    if !is_reference && !Path::new(XSLT_MODULE).exists() {
        lacked.push("response_xslt");
    }
    let uses_saxon = || {
        let policies = scenario.all_routes().flat_map(|it| &it.policies);
        let mut policies = policies.filter_map(Policy::extra);
        policies.any(|it| it == "saxon")
    };
    let has_all = !scenario.needs().iter().any(|it| lacked.contains(it));
    has_all && (is_reference || !uses_saxon())
}

/// Asserts that each gateway supports all scenarios whose features it has, and none of the others.
#[track_caller]
fn assert_supported(outcomes: &Outcomes) {
    let scenarios = Library::default().scenarios().unwrap();
    for ((name, variant), outcome) in outcomes {
        let scenario = scenarios.iter().find(|it| it.document.scenario == *name);
        let has_everything = has_everything(variant, &scenario.unwrap().document);
        let expected = if has_everything {
            "completed"
        } else {
            "not_supported"
        };
        assert_eq!(outcome, expected, "{name} on {variant}");
    }
}

/// Runs every second scenario of the suites with the common load. A single test of all of them
/// would take too long.
#[track_caller]
fn half_of_the_plain_scenarios_hold(half: usize) {
    let plain = suites()
        .into_iter()
        .filter(|suite| !is_whole(&suite.suite) && !is_disturbed(&suite.load));
    let scenarios = Library::default().scenarios().unwrap();
    let of_word = |word: &str| -> Vec<String> {
        let is_meant = |it: &Scenario| {
            it.scenario == word || it.family.as_ref().is_some_and(|it| it.name == word)
        };
        let meant = scenarios.iter().map(|it| &it.document);
        let meant = meant.filter(|it| is_meant(it));
        meant.map(|it| it.scenario.clone()).collect()
    };
    let names: BTreeSet<String> = plain
        .flat_map(|suite| suite.scenarios)
        .flat_map(|it| of_word(it.word()))
        .collect();
    assert!(names.len() > 30, "{names:?}");
    let names: Vec<String> = names.into_iter().skip(half).step_by(2).collect();
    for names in names.chunks(RUN_SCENARIOS) {
        plain_scenarios_hold(names, "reference");
    }
    // Only some scenarios run on nginx: the tests of the crate `testbed` cover its policies.
    let some: Vec<String> = names.into_iter().step_by(4).collect();
    plain_scenarios_hold(&some, "nginx");
}

#[track_caller]
fn plain_scenarios_hold(names: &[String], gateway: &str) {
    // The names need `--scenario`, because some suites have the same name as a scenario.
    let words = format!("--no-direct --scenario {}", names.join(" --scenario "));
    let outcomes = smoke(&words, &[gateway]);
    assert_eq!(outcomes.len(), names.len(), "a trial is missing");
    assert_supported(&outcomes);
}

#[test]
fn scenarios_of_suites_with_the_common_load_pass() {
    half_of_the_plain_scenarios_hold(0);
}

#[test]
fn the_other_scenarios_of_suites_with_the_common_load_pass() {
    half_of_the_plain_scenarios_hold(1);
}

#[test]
fn scenarios_with_changes_during_the_load_pass() {
    let mut seen = 0;
    for suite in suites() {
        let names = disturbed(&suite);
        if names.is_empty() {
            continue;
        }
        let words = format!(
            "{} --no-direct --scenario {}",
            suite.suite,
            names.join(" --scenario ")
        );
        let outcomes = smoke(&words, &["reference", "nginx"]);
        assert_eq!(outcomes.len(), names.len() * 2, "a trial is missing");
        assert_supported(&outcomes);
        seen += names.len();
    }
    assert!(seen >= 4, "{seen}");
}

#[track_caller]
fn whole_suites_hold(suites: &[&str]) {
    for suite in suites {
        let direct = smoke(suite, &["reference"]);
        let is_measured = |((_, variant), outcome): (&(String, String), &String)| {
            variant.starts_with("reference") && outcome == "completed"
        };
        assert!(direct.iter().any(is_measured), "{suite}: {direct:?}");
        assert!(
            direct.values().all(|it| it == "completed"),
            "{suite}: {direct:?}"
        );
        assert_supported(&smoke(&format!("{suite} --no-direct"), &["nginx"]));
    }
}

#[test]
fn the_suites_of_soap_documents_also_pass_without_a_gateway() {
    whole_suites_hold(&WHOLE_OF_SOAP);
}

#[test]
fn the_suites_of_other_documents_also_pass_without_a_gateway() {
    whole_suites_hold(&WHOLE_OF_OTHERS);
}

#[test]
fn nginx_with_lua_passes_the_soap_scenarios_that_it_supports() {
    let outcomes = smoke("soap --no-direct", &["nginx-lua"]);
    assert_supported(&outcomes);
    let done: BTreeSet<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| *outcome == "completed")
        .map(|((name, _), _)| name.as_str())
        .collect();
    let numbered: Vec<String> = (0..=7).map(|number| format!("soap-{number}")).collect();
    let errors = ["soap-1-errors", "soap-3-errors"];
    for name in numbered.iter().map(String::as_str).chain(errors) {
        assert!(done.contains(name), "{name}: {done:?}");
    }
}

#[test]
fn cold_starts_have_a_separate_section() {
    let _turn = turn();
    let bench = Bench::new();
    bench
        .gatebench("run cold-start --quick --blocks 2 --gateway reference --dir run")
        .assert_measured();
    for trial in bench.kept_trials("run") {
        let record = bench.read(&format!("run/trials/{trial}/trial.json"));
        let record: Value = serde_json::from_str(&record).unwrap();
        let phase = &record["phases"][0];
        assert_eq!(phase["warm_up_ns"].as_u64(), Some(0), "{phase:#}");
        assert!(record["gateway"]["first_correct"].is_object());
    }
    let report: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let mut sections = report["sections"].as_array().unwrap().iter();
    let section = sections.find(|it| it["id"] == "cold-start").unwrap();
    let rows = section["table"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    let cells = rows[0]["cells"].as_array().unwrap();
    let median = |index: usize| cells[index]["estimate"]["median"].as_f64();
    let (after_ns, resolution_ns) = (median(0).unwrap(), median(1).unwrap());
    // The program takes more than 0.1 ms to start and, even on a busy machine, less than 20 s.
    assert!((1e5..2e10).contains(&after_ns), "{after_ns} ns");
    assert!(resolution_ns > 0.0 && resolution_ns <= after_ns);
    // Other work on the machine may invalidate the CPU time; the report then states this.
    if cells[3]["validity"] != "invalid" {
        for cost_ns in [median(2).unwrap(), median(3).unwrap()] {
            assert!((100.0..1e7).contains(&cost_ns), "{cost_ns} ns");
        }
        let requests = median(4);
        let says = cells[4]["words"].as_str();
        assert!(requests.is_some() != says.is_some(), "{cells:#?}");
        assert!(requests.is_none_or(|it| (0.0..=4_000.0).contains(&it)));
    }
    let headlines = report["headlines"].to_string();
    let opening = "reference sends its first correct response";
    assert!(headlines.contains(opening), "{headlines}");
}

#[test]
fn the_suites_named_here_exist() {
    for name in WHOLE_OF_SOAP.into_iter().chain(WHOLE_OF_OTHERS) {
        assert!(suites().iter().any(|suite| suite.suite == name), "{name}");
    }
}
