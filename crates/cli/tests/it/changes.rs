//! Changes to a gateway or its upstream during the measurement.

use serde_json::Value;

use crate::bench::Bench;
use crate::turns::turn;

const CONFIGURE: &str = "- {name: change, open: {rate_per_second: 200, connections_max: 8}, measure: 2400ms, \
                         change: {action: configure, at: 1100ms}}\n";

/// Runs a scenario, and returns the record and the series of the only trial.
#[track_caller]
pub fn record_of_run(bench: &Bench, scenario: &str, gateway: &str) -> (Value, String) {
    bench.gatebench(&format!(
        "run --scenario {scenario} --load load.yaml --blocks 1 --no-direct --dir run \
         --gateway {gateway}"
    ));
    let trials = std::fs::read_dir(bench.path("run/trials")).unwrap();
    let folder = trials.flatten().next().unwrap().path();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let record: Value = serde_json::from_str(&read("trial.json")).unwrap();
    assert_eq!(
        record["outcome"]["kind"].as_str().unwrap_or("completed"),
        "completed",
        "{record:#}"
    );
    (record, read("series.csv"))
}

#[test]
fn a_new_route_responds_after_the_change_and_the_others_all_the_time() {
    let _turn = turn();
    let bench = Bench::new();
    bench.load(CONFIGURE);
    let (record, _) = record_of_run(&bench, "route-added", "reference");
    let phase = &record["phases"][0];
    assert!(phase["change"]["effective_ns"].is_u64(), "{phase:#}");
    assert_eq!(phase["counts"]["errors"], serde_json::json!({}));
    assert_eq!(phase["counts"]["checks_failed"], serde_json::json!({}));
    let routes = |proof: &str| record[proof]["routes_answering"].as_u64();
    assert_eq!(
        (routes("parity_before"), routes("parity_after")),
        (Some(100), Some(101))
    );
}

/// Creates a copy of the reference gateway's folder in which the gateway reloads in another way.
fn reference_with(bench: &Bench, name: &str, reload: &str) {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateways/reference");
    std::fs::create_dir(bench.path(name)).unwrap();
    for file in ["gateway.yaml", "gateway.json"] {
        let text = std::fs::read_to_string(source.join(file)).unwrap();
        let text = text.replace("gateway: reference", &format!("gateway: {name}"));
        let text = text.replace("reload: {signal: HUP}", &format!("reload: {reload}"));
        bench.write(&format!("{name}/{file}"), &text);
    }
}

#[test]
fn samples_do_not_wait_for_a_slow_change() {
    let _turn = turn();
    let bench = Bench::new();
    bench.load(
        "- {name: change, open: {rate_per_second: 200, connections_max: 8}, measure: 4200ms, \
         change: {action: reload, at: 1100ms}}\n",
    );
    reference_with(&bench, "slow", "{command: [sleep, '2']}");
    let (record, series) = record_of_run(&bench, "proxy-json", "./slow");
    let phase = &record["phases"][0];
    let took_ns = phase["change"]["took_ns"].as_u64().unwrap();
    assert!(took_ns >= 2_000_000_000, "{took_ns}");
    let ends_ns = phase["bins"]["ends_ns"].as_array().unwrap().iter();
    let ends_ns = [0]
        .into_iter()
        .chain(ends_ns.map(|it| it.as_u64().unwrap()));
    let ends_ns = Vec::from_iter(ends_ns);
    let longest_ns = ends_ns.windows(2).map(|it| it[1] - it[0]).max();
    assert!(longest_ns < Some(1_000_000_000), "{ends_ns:?}");
    assert_eq!(series.lines().count(), 1 + 5, "{series}");
}

/// The gateway ignores the signal that should make it reload.
#[test]
fn a_change_without_effect_is_detected() {
    let bench = Bench::new();
    bench.load(CONFIGURE);
    reference_with(&bench, "deaf", "{signal: WINCH}");
    let (record, _) = record_of_run(&bench, "route-added", "./deaf");
    assert!(
        record["phases"][0]["change"]["effective_ns"].is_null(),
        "{record:#}"
    );
    let cases = record["parity_after"]["cases"].as_array().unwrap();
    let failed: Vec<_> = cases.iter().filter(|it| it["passed"] == false).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["name"], "the new route leads to the upstream");
    let report = bench.read("run/report.md");
    assert!(
        report.contains("Parity held before the load, but not after it"),
        "{report}"
    );
}

#[test]
fn a_scenario_without_a_change_is_refused() {
    let bench = Bench::new();
    bench.load(CONFIGURE);
    bench
        .gatebench("run --scenario proxy-json --load load.yaml --gateway reference --dir run")
        .assert_code(2)
        .assert_says(&["reconfigures the gateway", "under `later:`"]);
}

#[test]
fn each_target_is_seen_to_fail_and_to_recover() {
    let _turn = turn();
    let bench = Bench::new();
    let phase = |how: &str, more: &str| {
        format!(
            "- {{name: {how}, open: {{rate_per_second: 200, connections_max: 64}}, measure: 3200ms, \
             failure: {{how: {how}, {more}from: 1s, until: 2s}}}}\n"
        )
    };
    bench.load(&(phase("slow", "by: 20ms, ") + &phase("resetting", "") + &phase("refusing", "")));
    let (record, _) = record_of_run(&bench, "three-targets", "reference");
    let failure = |index: usize| &record["phases"][index]["failure"];
    let seen = |index: usize, target: usize, when: &str| {
        failure(index)["targets"][target][when].as_u64().unwrap()
    };
    for index in 0..3 {
        assert_eq!(failure(index)["targets"].as_array().unwrap().len(), 3);
        for target in 0..3 {
            let all = ["before", "during", "after"].map(|when| seen(index, target, when) > 0);
            let is_down = index == 2 && target == 0;
            assert_eq!(all, [true, !is_down, true], "{:#}", failure(index));
        }
    }
    let errors = |index: usize| record["phases"][index]["counts"]["checks_failed"].to_string();
    assert!(
        errors(1).contains("status is 200"),
        "a reset is reported as a failed check: {}",
        errors(1)
    );
    assert_eq!(errors(0), "{}", "responses of a slow upstream are correct");
}

#[test]
fn a_cold_load_begins_at_the_first_correct_response() {
    let _turn = turn();
    let bench = Bench::new();
    bench.write(
        "load.yaml",
        "profile: cold\ntitle: Cold\ncold: true\nphases:\n\
         - {name: first, open: {rate_per_second: 200, connections_max: 8}, measure: 1s}\n",
    );
    let (record, _) = record_of_run(&bench, "proxy-json", "reference");
    let first = &record["gateway"]["first_correct"];
    let of = |key: &str| first[key].as_u64().unwrap_or_else(|| panic!("{first:#}"));
    assert!(of("not_before_ns") < of("after_ns"), "{first:#}");
    assert_eq!(
        record["gateway"]["started_in_ms"].as_u64(),
        Some(of("after_ns") / 1_000_000)
    );
    let began_ns = record["phases"][0]["began_ns"].as_u64().unwrap();
    let waited_ns = began_ns.checked_sub(of("at_ns")).unwrap();
    assert!(waited_ns < 5_000_000_000, "{waited_ns} ns without a load");
    assert_eq!(record["phases"][0]["warm_up_ns"].as_u64(), Some(0));
    assert!(record["parity_before"].is_null(), "{record:#}");
    let mut cases = record["parity_after"]["cases"].as_array().unwrap().iter();
    assert!(cases.all(|case| case["passed"] == true), "{record:#}");
}

#[test]
fn a_gateways_own_metrics_are_fetched_during_the_load() {
    let _turn = turn();
    let bench = Bench::new();
    bench.load(
        "- {name: steady, open: {rate_per_second: 200, connections_max: 8}, measure: 2200ms}\n",
    );
    let (record, series) = record_of_run(&bench, "metrics-scraped", "haproxy");
    let own = &record["phases"][0]["own_metrics"];
    // On a busy machine, one of the fetches may be late.
    assert!(
        (2..=3).contains(&own["scrapes"].as_u64().unwrap()),
        "{own:#}"
    );
    assert_eq!(own["failed"].as_u64(), Some(0), "{own:#}");
    assert!(own["requests"].as_u64() > Some(0), "{own:#}");
    assert!(
        series
            .lines()
            .next()
            .unwrap()
            .ends_with(",gateway_own_requests,gateway_pool_objects_bytes")
    );
    let mut seconds = series.lines().skip(1);
    assert!(seconds.any(|line| !line.ends_with(',')), "{series}");
}

#[test]
fn an_admin_interface_is_called_during_the_load() {
    let _turn = turn();
    let bench = Bench::new();
    bench.load(
        "- {name: steady, open: {rate_per_second: 100, connections_max: 8}, measure: 1200ms}\n",
    );
    let text = include_str!("../../../../scenarios/change/admin.yaml");
    let one = text.replace("[{name: 1, rounds: 200}, {name: 1000, rounds: 20}]", "[1]");
    let rounds = "rounds: \"{{ routes.rounds }}\"";
    let often = one.replace(rounds, "rounds: 1\n  under_load_every: 50ms");
    bench.write("mine.yaml", &often);
    // Parity proves that the route no longer exists at the end.
    let (record, _) = record_of_run(&bench, "./mine.yaml", "caddy");
    let admin = &record["phases"][0]["admin"];
    assert_eq!(admin["every_ns"].as_u64(), Some(50_000_000), "{admin:#}");
    let created = admin["took_ns"]["create"].as_array();
    let created = created.unwrap_or_else(|| panic!("{admin:#}"));
    assert!(created[0].as_u64() > Some(0), "{admin:#}");
    assert!(admin["failure"].is_null(), "{admin:#}");
    bench.gatebench("report run").assert_code(0);
    let page = bench.read("run/report.md");
    assert!(page.contains("under 'steady'"), "{page}");
}
