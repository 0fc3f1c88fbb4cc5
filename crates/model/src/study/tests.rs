use gatebench_config::HumanDuration;
use serde_json::Value;

use super::*;
use crate::load::Spread;
use crate::{DecisiveMetric, FileKind, Plan, Settle, Stacks, Suite, schema};

const KEYS: [&str; 8] = [
    "ab_test",
    "capacity",
    "at",
    "soak",
    "flame",
    "isolation",
    "specification",
    "cold_start",
];

/// A plan with the keys that manifests of all versions contain, and with these further keys.
fn text(keys: &str) -> String {
    format!(
        r#"{{"suite": "s", "title": "t", "seed": 1, "blocks": 1, "scenarios": [],
        "load": {{"profile": "l", "title": "t", "phases": [
            {{"name": "steady", "closed": {{"connections": 64}}, "measure": "3s"}}]}},
        "variants": [{{"kind": "gateway", "name": "nginx", "folder": "nginx"}}],
        "placement": {{"gateway": [0], "engine": [1], "upstream": [1], "note": ""}},
        "trials": [{{"number": 1, "block": 1, "scenario": "mock", "variant": "nginx"}}]{keys}}}"#
    )
}

/// Reads the plan of an earlier manifest that has these settings under this key, and asserts that
/// writing the plan restores the same JSON, except that the key `duel` is now `ab_test`.
#[track_caller]
fn read(key: &str, settings: &str) -> Plan {
    let plan: Plan = serde_json::from_str(&text(&format!(r#", "{key}": {settings}"#))).unwrap();
    let written = serde_json::to_value(&plan).unwrap();
    let settings: Value = serde_json::from_str(settings).unwrap();
    let key = if key == "duel" { "ab_test" } else { key };
    assert_eq!(written[key], settings);
    let written_keys = KEYS.iter().filter(|key| written.get(key).is_some());
    assert_eq!(written_keys.collect::<Vec<_>>(), [&key]);
    assert!(jsonschema::is_valid(&schema(FileKind::Plan), &written));
    assert_eq!(serde_json::from_value::<Plan>(written).unwrap(), plan);
    plan
}

#[test]
fn an_earlier_manifest_without_a_key_only_measures() {
    let plan: Plan = serde_json::from_str(&text("")).unwrap();
    assert_eq!(plan.study, Study::Measure(None));
    let written = serde_json::to_value(&plan).unwrap();
    assert!(KEYS.iter().all(|key| written.get(key).is_none()));
    let network = text(r#", "network_ceiling": true"#);
    let plan: Plan = serde_json::from_str(&network).unwrap();
    assert_eq!((plan.network_ceiling, plan.study), (true, Study::default()));
}

#[test]
fn the_length_of_a_run_determines_the_durations_of_shares() {
    let text = "{suite: s, title: t, gateways: [nginx], scenarios: [mock], load: l, blocks: 1, \
                study: {at: [90, 50]}}";
    let suite: Suite = gatebench_config::parse("s.yaml", text).unwrap();
    let study = suite.study.unwrap().of_length(Length::Quick);
    let shares = Shares::new(vec![50, 90], Length::Quick);
    assert_eq!(study, Study::Measure(Some(shares)));
    let wrong = text.replace("at: [90, 50]", "at: [100]");
    assert!(gatebench_config::parse::<Suite>("s.yaml", &wrong).is_err());
}

#[test]
fn a_suite_of_cold_starts_needs_no_settings() {
    let plan = read("cold_start", r#"{"within_percent": 5}"#);
    let suite: SuiteStudy = serde_json::from_str(r#"{"cold_start": {}}"#).unwrap();
    assert_eq!(plan.study, suite.of_length(Length::Full));
}

#[test]
fn each_study_is_read_from_an_earlier_manifest() {
    let shares = Shares::new(vec![50, 90], Length::Full);
    let ab = AbTest {
        candidate: "mine".into(),
        baseline: "nginx".into(),
        again: "nginx-2".into(),
        metric: DecisiveMetric::AddedP99,
        blocks_max: 40,
        decides_first: true,
    };
    let capacity = Capacity {
        objective: "p99<10ms, errors<0.1%".parse().unwrap(),
        step: HumanDuration::from_millis(4_000),
        connections: 64,
        arrivals: Spread::Uniform,
        rate_max_per_second: None,
        size_for_per_second: Some(60_000.0),
    };
    let soak = Soak {
        duration: HumanDuration::from_millis(3_600_000),
        growth_bytes_per_hour: 4 << 20,
    };
    let flame = Flame {
        samples_per_second: 499,
        stacks: Stacks::FramePointers,
    };
    let isolation = Isolation {
        failing: "f".into(),
        healthy: "f-healthy".into(),
        again: "f-healthy-again".into(),
        group: "good".into(),
    };
    for (key, settings, study) in [
        (
            "at",
            r#"{"percents": [50, 90], "connections": 64, "arrivals": "poisson",
                "warm_up": "1s", "measure": "3s"}"#,
            Study::Measure(Some(shares)),
        ),
        (
            "duel",
            r#"{"candidate": "mine", "baseline": "nginx", "again": "nginx-2",
                "metric": "added_p99", "blocks_max": 40, "decides_first": true}"#,
            Study::Ab(ab),
        ),
        (
            "capacity",
            r#"{"objective": "p99<10ms, errors<0.1%", "step": "4s", "connections": 64,
                "arrivals": "uniform", "size_for_per_second": 60000.0}"#,
            Study::Capacity(capacity),
        ),
        (
            "soak",
            r#"{"duration": "1h", "growth_bytes_per_hour": 4194304}"#,
            Study::Soak(soak),
        ),
        (
            "flame",
            r#"{"samples_per_second": 499, "stacks": "frame-pointers"}"#,
            Study::Profile(flame),
        ),
        (
            "isolation",
            r#"[{"failing": "f", "healthy": "f-healthy", "again": "f-healthy-again",
                "group": "good"}]"#,
            Study::Isolation(vec![isolation]),
        ),
    ] {
        assert_eq!(read(key, settings).study, study, "{key}");
    }
}

#[test]
fn a_specification_is_read_from_an_earlier_manifest() {
    let settings = r#"{"name": "single-route", "tags": ["routes"], "retries": 2,
        "settle": {"load_per_core": 0.2, "at_most": "90s"}, "threads": 4,
        "combines": true, "saves_error_log": false}"#;
    let plan = read("specification", settings);
    let specified = plan.study.versions().unwrap();
    assert_eq!(specified.name, "single-route");
    assert!(specified.combines && !specified.saves_error_log);
    assert_eq!((plan.retries(), plan.study.engine_threads()), (2, Some(4)));
    assert_eq!(plan.settle(), Some(Settle::default()));
}

#[test]
fn a_plan_of_two_studies_is_refused() {
    let keys = r#", "soak": {"duration": "1h", "growth_bytes_per_hour": 0},
        "flame": {"samples_per_second": 499, "stacks": "dwarf"}"#;
    let error = serde_json::from_str::<Plan>(&text(keys)).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("both 'soak' and 'flame'"), "{error}");
}
