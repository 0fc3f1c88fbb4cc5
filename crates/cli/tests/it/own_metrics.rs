//! The audit of gateways' own metrics: faults are detected, an honest gateway is not accused, and
//! the known limits of real gateways' metrics are reported.

use serde_json::Value;

use crate::bench::Bench;
use crate::flawed::flawed;
use crate::turns::turn;

/// Two loads: in the first, a target responds only after clients have given up; in the second, it
/// resets connections, so the gateway sends requests again.
const ABANDONED: &str = "\
- name: abandoned
  open: {rate_per_second: 300, connections_max: 64}
  warm_up: 200ms
  measure: 3s
  timeout: 100ms
  failure: {how: slow, by: 400ms, from: 1s, until: 2s}
- name: retried
  open: {rate_per_second: 300, connections_max: 64}
  warm_up: 200ms
  measure: 3s
  timeout: 2s
  failure: {how: resetting, from: 1s, until: 2s}
";

const THREE_TARGETS: &str = include_str!("../../../../scenarios/fault/three-targets.yaml");

/// Writes `mine.yaml`: the scenario `three-targets`, with the gateway's metrics fetched once a
/// second.
fn scenario(bench: &Bench) {
    let with = THREE_TARGETS
        .replace("scenario: three-targets", "scenario: mine")
        .replace("targets: 3", "targets: 3\nmetrics: {scrape_every: 1s}");
    bench.write("mine.yaml", &with);
}

/// The columns of the report's table that the tests read: counts and nanoseconds.
const OWN_COUNT: usize = 0;
const COMPLETED: usize = 1;
const P95_DRAWN: usize = 4;
const P95_MEASURED: usize = 5;
const P99_MEASURED: usize = 7;
const OWN_MEAN: usize = 8;
const MEASURED_MEAN: usize = 9;

/// A row of the report's table.
#[derive(Debug)]
struct Row {
    name: String,
    /// The number in each cell.
    figures: Vec<Option<f64>>,
    judgment: String,
}

impl Row {
    #[track_caller]
    fn figure(&self, column: usize) -> f64 {
        self.figures[column].unwrap_or_else(|| panic!("column {column} is empty: {self:#?}"))
    }
}

/// Returns the rows of the table in the report of a run.
#[track_caller]
fn table(bench: &Bench, run: &str) -> Vec<Row> {
    let report: Value = serde_json::from_str(&bench.read(&format!("{run}/report.json"))).unwrap();
    let sections = report["sections"].as_array().unwrap();
    let own = sections.iter().find(|it| it["id"] == "own-metrics");
    let own = own.unwrap_or_else(|| panic!("{sections:#?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let read = |row: &Value| {
        let cells = row["cells"].as_array().unwrap();
        let figures = cells.iter().map(|it| it["estimate"]["median"].as_f64());
        Row {
            name: text(&row["name"]),
            figures: figures.collect(),
            judgment: text(&cells[cells.len() - 1]["words"]),
        }
    };
    let rows = own["table"]["rows"].as_array().unwrap();
    rows.iter().map(read).collect()
}

#[track_caller]
fn row<'t>(table: &'t [Row], name: &str) -> &'t Row {
    let found = table.iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("'{name}' is not in {table:#?}"))
}

#[test]
fn each_kind_of_miscounting_is_detected_and_an_honest_gateway_is_not_accused() {
    let _turn = turn();
    let bench = Bench::new();
    scenario(&bench);
    bench.load(ABANDONED);
    let folder = bench.path("");
    for (name, flags) in [
        ("uncounted", "--uncounted, 1%"),
        ("retries", "--count-retries"),
        ("forgetful", "--forget-abandoned"),
    ] {
        flawed(&folder, name, flags);
    }
    // Each gateway has a run of its own. The runs can take place at the same time, because the
    // judgments depend on counts, not on timing.
    let runs = [
        ("reference", "reference", ["agrees", "agrees"], &[][..]),
        (
            "./uncounted",
            "uncounted",
            ["miscounts", "miscounts"],
            &["uncounted miscounts its requests in retried: it does not count"],
        ),
        (
            "./retries",
            "retries",
            ["agrees", "miscounts"],
            &[
                "retries miscounts its requests in retried: it counts",
                "so the gateway may count retries",
            ],
        ),
        (
            "./forgetful",
            "forgetful",
            ["miscounts", "agrees"],
            &["forgetful miscounts its requests in abandoned: it does not count"],
        ),
    ];
    let sessions = runs.map(|(gateway, name, ..)| {
        bench.start(&format!(
            "run --scenario ./mine.yaml --load load.yaml --blocks 1 --no-direct --dir {name}-run \
             --gateway {gateway}"
        ))
    });
    for (session, (_, name, expected, sentences)) in sessions.into_iter().zip(runs) {
        session.wait_for_end().assert_measured();
        let table = table(&bench, &format!("{name}-run"));
        for (phase, words) in ["abandoned", "retried"].into_iter().zip(expected) {
            let counted = row(&table, &format!("{name} · requests, {phase}"));
            assert_eq!(counted.judgment, words, "{table:#?}");
        }
        let page = bench.read(&format!("{name}-run/report.md"));
        for sentence in sentences {
            assert!(page.contains(sentence), "'{sentence}' is not in\n{page}");
        }
        assert!(!page.contains("reference miscounts"), "{page}");
    }
    assert!(bench.processes().is_empty(), "processes are still running");
}

/// Judges two honest gateways in twenty runs, each with fresh processes, under a steady load and
/// the loads in [`ABANDONED`]. The upstream responds after 20 ms, so the time that clients spend in
/// the kernel's queues, which no gateway can measure, is a small part of each time.
#[test]
#[ignore = "takes minutes: make test-full"]
fn an_honest_gateway_is_never_accused() {
    let _turn = turn();
    let bench = Bench::new();
    scenario(&bench);
    let prompt = bench.read("mine.yaml");
    let delayed = prompt.replace(
        "checks: &response",
        "headers: {X-Delay: 20ms}\n    checks: &response",
    );
    assert_ne!(delayed, prompt);
    bench.write("mine.yaml", &delayed);
    let steady = "- {name: steady, open: {rate_per_second: 1000, connections_max: 64}, \
                  warm_up: 500ms, measure: 3s}\n";
    bench.load(&format!("{steady}{ABANDONED}"));
    for run in 0..20 {
        let finished = bench.gatebench(&format!(
            "run --scenario ./mine.yaml --load load.yaml --blocks 1 --no-direct --seed {run} \
             --gateway reference --gateway haproxy --dir run-{run}"
        ));
        finished.assert_measured();
        let table = table(&bench, &format!("run-{run}"));
        for gateway in ["reference", "haproxy"] {
            let of_gateway = table.iter().filter(|it| it.name.starts_with(gateway));
            // Each of the three loads has a row for the count and one for the times.
            assert_eq!(of_gateway.count(), 6, "run {run}: {gateway}: {table:#?}");
        }
        for row in &table {
            for accusation in ["miscounts", "differs", "late"] {
                let accuses = row.judgment.contains(accusation);
                assert!(!accuses, "run {run}: {row:#?}");
            }
        }
    }
}

/// Envoy is first, so that its long waits take place during the trials of the others.
const AUDITED: [&str; 5] = ["envoy", "reference", "haproxy", "traefik", "caddy"];

const ENVOY: &str = "envoy · envoy_http_downstream_rq_time (request), steady";
const TRAEFIK: &str = "traefik · traefik_entrypoint_request_duration_seconds (request), steady";

/// The names of the rows for times, whether these times are whole milliseconds, and the upper bound
/// of the first bucket in nanoseconds; no bound if gatebench measures only a mean of these times.
const TIMES: [(&str, bool, Option<f64>); 7] = [
    (
        "reference · gatebench_gateway_request_duration_seconds (request), steady",
        false,
        Some(50e3),
    ),
    (
        "haproxy · haproxy_backend_response_time_average_seconds (upstream), steady",
        true,
        None,
    ),
    (ENVOY, true, Some(500e3)),
    (
        "envoy · envoy_cluster_upstream_rq_time (upstream), steady",
        true,
        None,
    ),
    (TRAEFIK, false, Some(100e6)),
    (
        "traefik · traefik_service_request_duration_seconds (upstream), steady",
        false,
        None,
    ),
    (
        "caddy · caddy_http_request_duration_seconds (request), steady",
        false,
        Some(5e6),
    ),
];

/// Returns those of [`AUDITED`] that are installed. In CI, a missing gateway fails the test.
#[track_caller]
fn installed(bench: &Bench) -> Vec<&'static str> {
    let finished = bench.gatebench("list gateways --json");
    let listed: Value = serde_json::from_str(&finished.assert_code(0).stdout).unwrap();
    let listed = listed["gateways"].as_array().unwrap();
    let is_found = |name: &&str| {
        let mut all = listed.iter();
        all.any(|it| it["name"] == *name && it["found"] == true)
    };
    let (found, missing): (Vec<_>, Vec<_>) = AUDITED.into_iter().partition(is_found);
    if !missing.is_empty() {
        let words = format!("not installed: {}", missing.join(", "));
        assert!(std::env::var_os("CI").is_none(), "{words}; run make test");
        eprintln!("skipped: {words}");
    }
    found
}

#[test]
#[ignore = "takes half a minute: make test-full"]
fn real_gateways_count_every_request_and_their_coarse_times_are_detected() {
    let _turn = turn();
    let bench = Bench::new();
    // A p99 is measured only over at least 1,000 requests.
    bench
        .load("- {name: steady, open: {rate_per_second: 500, connections_max: 64}, measure: 3s}\n");
    let gateways = installed(&bench);
    // Two runs take place at the same time, because the gateways mostly wait.
    let runs = gateways.chunks(3).enumerate();
    let sessions = runs.map(|(run, gateways)| {
        let named: String = gateways
            .iter()
            .map(|it| format!(" --gateway {it}"))
            .collect();
        bench.start(&format!(
            "run --scenario metrics-scraped --load load.yaml --blocks 1 --no-direct \
             --dir run-{run}{named}"
        ))
    });
    let mut rows = Vec::new();
    for (run, session) in sessions.collect::<Vec<_>>().into_iter().enumerate() {
        session.wait_for_end().assert_measured();
        rows.extend(table(&bench, &format!("run-{run}")));
    }
    assert!(bench.processes().is_empty(), "processes are still running");
    for gateway in &gateways {
        let counted = row(&rows, &format!("{gateway} · requests, steady"));
        let [own, completed] = [OWN_COUNT, COMPLETED].map(|it| counted.figure(it));
        assert!(own == completed && own >= 1_000.0, "{counted:#?}");
        // Envoy merges the times of its workers every 5 s.
        let is_late = *gateway == "envoy" && counted.judgment.starts_with("late by ");
        assert!(is_late || counted.judgment == "agrees", "{counted:#?}");
    }
    let is_audited = |name: &str| gateways.iter().any(|it| name.starts_with(*it));
    for (name, is_whole, bound_ns) in TIMES.into_iter().filter(|it| is_audited(it.0)) {
        let times = row(&rows, name);
        let words = &times.judgment;
        assert!(!words.is_empty(), "nothing was timed: {times:#?}");
        assert_eq!(words.contains("whole milliseconds"), is_whole, "{times:#?}");
        // A dashboard interpolates within the first bucket, so it draws the p95 at 95 % of the
        // bound, whatever the times are (at 96 % if one request in a hundred is above the bound).
        let coarse_ns = bound_ns.filter(|it| times.figure(P99_MEASURED) <= *it);
        assert_eq!(
            words.contains("too coarse"),
            coarse_ns.is_some(),
            "{times:#?}"
        );
        if let Some(bound_ns) = coarse_ns {
            let share = times.figure(P95_DRAWN) / bound_ns;
            assert!((0.949..0.97).contains(&share), "{share}: {times:#?}");
        }
    }
    if is_audited(TRAEFIK) {
        let times = row(&rows, TRAEFIK);
        assert!(times.judgment.contains("too coarse"), "{times:#?}");
        let [drawn, measured] = [P95_DRAWN, P95_MEASURED].map(|it| times.figure(it));
        assert!(measured < drawn / 2.0, "{times:#?}");
    }
    if is_audited(ENVOY) {
        // Envoy truncates each time, so the parts below a millisecond are missing in its mean.
        let times = row(&rows, ENVOY);
        assert!(
            times.figure(OWN_MEAN) < times.figure(MEASURED_MEAN),
            "{times:#?}"
        );
    }
}
