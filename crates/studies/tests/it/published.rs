//! A small run with known numbers in the columns of published documents.

use std::path::Path;

use gatebench_model::published::{Figure, PublishedRow};
use gatebench_model::{Check, Published};
use gatebench_report::figures::FigureTable;
use gatebench_store::{
    ExternalFigures, ExternalGenerator, Manifest, Run, RunWriter, SeriesRow, TraceCounts,
};
use gatebench_studies::analyse;
use gatebench_studies::published::facts::{Correction, DocumentFindings};
use gatebench_studies::published::in_columns_of;

use crate::common::{Made, SECOND_NS, SECONDS, as_recorded, made, manifest};

/// A plan of three blocks with these scenarios.
pub(crate) fn plan(scenarios: &[&str]) -> Manifest {
    let mut manifest = manifest(3);
    let mut first = manifest.plan.scenarios.remove(0);
    first.requests[0].checks = vec![Check::Status(200)];
    for name in scenarios {
        let mut scenario = first.clone();
        scenario.scenario = (*name).to_owned();
        manifest.plan.scenarios.push(scenario);
    }
    manifest.plan.trials = crate::common::every_cell(&manifest.plan, 3);
    manifest
}

fn document(name: &str) -> Published {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/published");
    let file = match name {
        "soap-earlier" => "soap/table-earlier.yaml".to_owned(),
        name => format!("{name}/table.yaml"),
    };
    gatebench_config::read(&folder.join(file)).unwrap()
}

pub(crate) fn columns(
    name: &str,
    manifest: Manifest,
    change: impl Fn(&mut Made),
) -> DocumentFindings {
    in_columns(&document(name), manifest, change)
}

fn in_columns(
    document: &Published,
    manifest: Manifest,
    change: impl Fn(&mut Made),
) -> DocumentFindings {
    let dir = tempfile::TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest.clone()).unwrap();
    for trial in &manifest.plan.trials {
        let mut made = made(&manifest, trial);
        change(&mut made);
        let open = writer.begin_trial(trial).unwrap();
        open.finish(made.record, &made.intervals, &made.rows)
            .unwrap();
    }
    let run = Run::open(dir.path()).unwrap();
    in_columns_of(document, &run, &analyse(&run).unwrap()).unwrap()
}

/// Halves the throughput of the closed load, so users wait twice as long.
fn halved(made: &mut Made) {
    let phase = made.closed();
    let all = phase.counts.completed_in_window / 2;
    let counts = &mut phase.counts;
    (counts.intended, counts.sent, counts.completed) = (all, all, all);
    counts.completed_in_window = all;
    counts.by_class = [("2xx".to_owned(), all)].into();
    (counts.bytes_sent, counts.bytes_received) = (all * 80, all * 200);
    phase.trace.traced = all;
    (phase.ledger.requests, phase.ledger.unique) = (all, all);
    let rate = all / SECONDS;
    made.record_values("saturate", "response", &[(64 * SECOND_NS / rate, all)]);
    for row in made.rows.iter_mut().filter(|it| it.phase == "saturate") {
        row.completed = rate;
    }
}

/// Sets the latency that the gateway adds in the closed load to 40 µs.
fn with_added(made: &mut Made) {
    let all = made.closed().counts.completed;
    made.record_values("saturate", "added", &[(40_000, all)]);
}

pub(crate) fn table<'a>(found: &'a DocumentFindings, title: &str) -> &'a FigureTable {
    let titles: Vec<&str> = found.tables.iter().map(|it| it.title.as_str()).collect();
    let mut tables = found.tables.iter();
    tables
        .find(|it| it.title == title)
        .unwrap_or_else(|| panic!("{titles:?}"))
}

/// The median in this row, in the column with this header.
pub(crate) fn median(table: &FigureTable, row: &str, group: &str, head: &str) -> Option<f64> {
    let columns = table.groups.iter().flat_map(|group| {
        let named = group
            .columns
            .iter()
            .map(move |it| (group.title.as_str(), it.head.join(" ")));
        named.collect::<Vec<_>>()
    });
    let place = columns
        .into_iter()
        .position(|(of, name)| of == group && name.trim() == head);
    let row = table.rows.iter().find(|it| it.name == row).unwrap();
    row.cells[place.unwrap_or_else(|| panic!("{group} {head}"))].median()
}

pub(crate) fn correction<'a>(found: &'a DocumentFindings, title: &str) -> &'a Correction {
    let mut all = found.corrections.iter();
    all.find(|it| it.title.starts_with(title)).unwrap()
}

#[track_caller]
pub(crate) fn close(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!(
        (value - expected).abs() <= 1e-9 * expected,
        "{value}, not {expected}"
    );
}

#[test]
fn policies_have_the_documents_columns_and_ratios() {
    let found = columns("soap", plan(&["soap-0", "soap-1"]), |made| {
        if made.record.trial.scenario == "soap-1" {
            halved(made);
        }
        with_added(made);
    });
    let titles: Vec<&str> = found.tables.iter().map(|it| it.title.as_str()).collect();
    assert_eq!(
        titles,
        ["nginx: performance", "haproxy: performance"],
        "the direct variant has no table"
    );
    let nginx = table(&found, "nginx: performance");
    assert_eq!(nginx.rows.len(), 2, "the others are not in the run");
    let (plain, wsdl) = ("0 no policy", "1 WSDL, request");
    close(median(nginx, plain, "document", "requests"), 41_000.0);
    close(median(nginx, wsdl, "document", "requests"), 20_500.0);
    close(
        median(nginx, plain, "document", "average"),
        (64 * SECOND_NS / 41_000) as f64,
    );
    close(
        median(nginx, plain, "document", "p99"),
        as_recorded(64 * SECOND_NS / 41_000),
    );
    close(
        median(nginx, plain, "document", "gateway p95"),
        as_recorded(40_000),
    );
    close(
        median(nginx, plain, "document", "memory"),
        f64::from(8 << 20),
    );
    close(median(nginx, plain, "document", "sent"), 410_000.0 * 80.0);
    close(
        median(nginx, plain, "document", "received"),
        410_000.0 * 200.0,
    );
    close(median(nginx, plain, "ours", "CPU/request"), 24_200.0);
    close(
        median(nginx, plain, "ours", "added p50"),
        as_recorded(50_000),
    );
    assert_eq!(
        median(nginx, plain, "ratio", "here"),
        None,
        "a row is not compared with itself"
    );
    close(median(nginx, wsdl, "ratio", "here"), 0.5);
    close(
        median(nginx, wsdl, "ratio", "published"),
        9_071.0 / 12_908.0,
    );
    close(
        median(nginx, wsdl, "ratio", "here ÷ published"),
        0.5 * 12_908.0 / 9_071.0,
    );
    // CPU time at saturation: a full core for half the requests.
    let cpu = nginx.rows[1].cells[nginx.rows[1].cells.len() - 3..].iter();
    let cpu: Vec<f64> = cpu.filter_map(|it| it.median()).collect();
    close(Some(cpu[0]), 2.0);
    close(Some(cpu[1]), 12_908.0 / 9_071.0);
    let checks = nginx.rows[0]
        .cells
        .iter()
        .find_map(|it| it.words.as_deref());
    assert_eq!(checks, Some("100 %"));
    assert!(
        found.notes[1]
            .starts_with("These rows are not in this run: 2 WSDL, SOAPAction, request; 3 XSD")
    );
    assert!(
        found.notes.iter().any(|it| it.contains("endurance")),
        "{:?}",
        found.notes
    );
}

#[test]
fn corrections_show_effects_on_the_run() {
    // The gateway releases two of its eight MiB in the last second.
    let change = |made: &mut Made| {
        with_added(made);
        let last = |it: &&mut SeriesRow| u64::from(it.second) + 1 == SECONDS;
        for row in made.rows.iter_mut().filter(last) {
            if let Some(gateway) = &mut row.gateway {
                gateway.rss_anon_bytes = 6 << 20;
            }
        }
    };
    let found = columns("soap", plan(&["soap-0", "soap-1"]), change);
    let bucket = correction(&found, "Gateway latency from a histogram");
    assert_eq!(bucket.untold, None);
    assert_eq!(bucket.rows[0].name, "0 no policy");
    close(Some(bucket.rows[0].their_way), 950_000.0);
    // At the fixed rate, the gateway adds 50 µs to 98 of 100 requests.
    close(Some(bucket.rows[0].measured), as_recorded(50_000));
    // 49.8 and 18.9 requests in flight, at 41,000 requests/s each.
    let users = correction(&found, "Rows with different numbers");
    let row = |name: &str| users.rows.iter().find(|it| it.name == name).unwrap();
    let published = [12_908.0 * 3.86e-3, 9_071.0 * 2.08e-3];
    for (name, users) in ["0 no policy", "1 WSDL, request"]
        .into_iter()
        .zip(published)
    {
        close(Some(row(name).their_way), users / 41_000.0 * 1e9);
        close(Some(row(name).measured), (64 * SECOND_NS / 41_000) as f64);
    }
    assert!(
        users.published.contains("49.8") && users.published.contains("18.9"),
        "{}",
        users.published
    );
    let saturated = correction(&found, "Latency at saturation");
    close(
        Some(saturated.rows[0].their_way),
        as_recorded(64 * SECOND_NS / 41_000),
    );
    close(Some(saturated.rows[0].measured), as_recorded(140_000));
    assert!(
        correction(&found, "The ramp").untold.is_some(),
        "no load has a ramp"
    );
    let memory = &correction(&found, "Memory as one").rows[0];
    close(Some(memory.measured), f64::from(8 << 20));
    close(Some(memory.their_way), f64::from(6 << 20));
    let one = correction(&found, "One run");
    assert_eq!(
        (one.rows[0].their_way, one.rows[0].measured),
        (40_000.0, 42_000.0)
    );
}

/// Requests in flight in a published row, by Little's law.
fn in_flight(row: &PublishedRow) -> f64 {
    let [rate, mean_ms] = [Figure::Rate, Figure::Mean].map(|it| row.published.get(it).unwrap());
    rate * mean_ms / 1e3
}

fn statement(document: &Published, title: &str) -> String {
    let mut all = document.corrections.iter();
    let found = all.find(|it| it.title.starts_with(title)).unwrap();
    found.published.clone()
}

#[test]
fn statements_agree_with_their_figures() {
    let soap = document("soap");
    let rows = soap.tables.iter().flat_map(|it| &it.rows);
    let mut latencies: Vec<f64> = rows
        .filter_map(|it| it.published.get(Figure::AddedP95))
        .collect();
    latencies.sort_by(f64::total_cmp);
    let range = format!(
        "{:.2} to {:.2} ms",
        latencies[0],
        latencies[latencies.len() - 1]
    );
    let bucket = statement(&soap, "Gateway latency from a histogram");
    assert!(bucket.contains(&range), "{range}: {bucket}");
    // All bounds of Kong's plugin; the last one is 6 s.
    let bounds = &soap.corrections[0].buckets_ms;
    assert_eq!((bounds.len(), bounds.last()), (17, Some(&6_000.0)));
    let [first, second] = [0, 1].map(|row| in_flight(&soap.tables[0].rows[row]));
    let both =
        format!("{first:.1} requests were in flight in scenario 0 and {second:.1} in scenario 1");
    let users = statement(&soap, "Rows with different numbers");
    assert!(users.contains(&both), "{both}: {users}");

    let framework = document("kong-framework");
    let runs = &framework.tables[1].rows;
    let [first, .., last] = &runs[..] else {
        panic!("{runs:?}")
    };
    let rate = |row: &PublishedRow| row.published.get(Figure::Rate).unwrap();
    let drift = format!(
        "{:.1} % above that of the first",
        (rate(last) / rate(first) - 1.0) * 100.0
    );
    let warm_up = statement(&framework, "No warm-up");
    assert!(warm_up.contains(&drift), "{drift}: {warm_up}");
    let counts: Vec<String> = runs
        .iter()
        .map(|it| gatebench_report::format::grouped(in_flight(it)))
        .collect();
    let counts = format!("{}, {} and {} requests", counts[0], counts[1], counts[2]);
    let wrk = statement(&framework, "A mean with added samples");
    assert!(wrk.contains(&counts), "{counts}: {wrk}");
}

#[test]
fn a_users_document_has_its_own_columns() {
    let text = "published: mine\ntitle: Mine\nsetting: Published for a laptop.\nsuite: tour\n\
                tables:\n  - row: scenario\n    base: plain\n    load: rate\n    rows:\n\
                \x20     - {row: plain, scenario: soap-0, published: {p99: 2, cpu: 10}}\n\
                \x20     - {row: wsdl, scenario: soap-1, published: {p99: 5, cpu: 40, rate: 1}}\n\
                \x20   groups:\n      - group: document\n        columns:\n\
                \x20         - {head: [longest], figure: rate, across: max}\n\
                \x20         - {head: [p99], figure: p99, show: published}\n\
                \x20         - {head: [CPU], figure: cpu, show: published}\n\
                corrections:\n  - {effect: rounded, title: Steps, published: Rounded., here: Not., step_ms: 0.5}\n";
    let mine: Published = gatebench_config::parse("mine.yaml", text).unwrap();
    let found = in_columns(&mine, plan(&["soap-0", "soap-1"]), |_| {});
    let nginx = table(&found, "nginx");
    // If CPU time is published, it is not derived from the ratio of rates.
    close(median(nginx, "wsdl", "document", "p99"), 2.5);
    close(median(nginx, "wsdl", "document", "CPU"), 4.0);
    assert_eq!(median(nginx, "plain", "document", "p99"), None);
    let row = nginx.rows.iter().find(|it| it.name == "plain").unwrap();
    let rate = row.cells[0].estimate.as_ref().unwrap();
    assert_eq!(rate.median, rate.max, "the largest of all blocks");
    assert_eq!(rate.blocks, 3);
    let steps = correction(&found, "Steps");
    assert_eq!(steps.heads, ["mean in 0.5 ms", "mean"]);
    assert_eq!(found.suite, "tour");
}

#[test]
fn endurance_has_a_separate_suite() {
    let mut manifest = plan(&["soap-5-routes"]);
    manifest.plan.suite = "soap-endurance".into();
    let found = columns("soap", manifest, |_| {});
    table(&found, "nginx: endurance, 100 routes");
    assert!(found.notes[0].contains("gatebench run soap-endurance --as-published"));
    let said = |part: &str| found.notes.iter().any(|it| it.contains(part));
    assert!(said("100 routes. The suite 'soap-endurance' has them."));
    assert!(said(
        "This run has no measurements for 'performance'. The suite 'soap' measures it."
    ));
}

#[test]
fn a_cell_that_was_not_measured_is_empty_and_noted() {
    let found = columns("soap", plan(&["soap-0"]), |_| {});
    let nginx = table(&found, "nginx: performance");
    assert_eq!(
        median(nginx, "0 no policy", "document", "gateway p95"),
        None
    );
    assert!(
        found
            .notes
            .iter()
            .any(|it| it.starts_with("gateway p95 (document) was not measured")),
        "{:?}",
        found.notes
    );
    let other = columns("soap", plan(&["proxy-json"]), |_| {});
    assert!(other.tables.is_empty() && other.corrections.is_empty());
}

#[test]
fn a_ramp_is_reported_separately() {
    let mut manifest = plan(&["soap-0"]);
    let shape = "{profile: l, title: t, phases: [{name: saturate, measure: 10s, closed: {connections: 1, \
                 stages: [{connections: 64, over: 2s}, {connections: 64, over: 8s}]}}]}";
    let load: gatebench_model::LoadProfile = gatebench_config::parse("l.yaml", shape).unwrap();
    manifest.plan.load.phases[0].shape = load.phases[0].shape.clone();
    let found = columns("soap", manifest, |made| {
        for row in made
            .rows
            .iter_mut()
            .filter(|it| it.phase == "saturate" && it.second < 2)
        {
            row.completed /= 2;
        }
    });
    let ramp = correction(&found, "The ramp");
    assert_eq!(
        (ramp.rows[0].their_way, ramp.rows[0].measured),
        (41_000.0, 41_000.0)
    );
    assert_eq!(ramp.untold, None);
    assert!(
        table(&found, "nginx: performance").groups[0]
            .label
            .starts_with("1 to 64 connections, 10 s")
    );
}

#[test]
fn external_percentiles_need_enough_responses_beyond_them() {
    let mut manifest = plan(&["soap-0"]);
    manifest.external_generator = Some(ExternalGenerator {
        name: "k6".into(),
        version: "1.8.1".into(),
        binary: "/usr/bin/k6".into(),
        script: None,
    });
    let found = columns("soap", manifest, |made| {
        made.intervals.clear();
        made.rows.clear();
        let phase = made.closed();
        phase.sums.clear();
        phase.trace = TraceCounts::default();
        phase.counts.completed = 500;
        phase.counts.by_class = [("2xx".to_owned(), 500)].into();
        phase.external = Some(ExternalFigures {
            engine: "k6".into(),
            percentiles_ns: [("95".to_owned(), 3_000), ("99".to_owned(), 4_000)].into(),
            ..ExternalFigures::default()
        });
    });
    let nginx = table(&found, "nginx: performance");
    close(median(nginx, "0 no policy", "document", "p95"), 3_000.0);
    assert_eq!(median(nginx, "0 no policy", "document", "p99"), None);
}

#[test]
fn the_base_of_the_earlier_edition_is_its_first_row_with_figures() {
    let found = columns(
        "soap-earlier",
        plan(&["soap-1", "soap-3", "httpbin-1", "httpbin-2"]),
        |_| {},
    );
    let nginx = table(&found, "nginx: performance");
    close(median(nginx, "3 XSD, request", "ratio", "here"), 1.0);
    close(
        median(nginx, "3 XSD, request", "ratio", "published"),
        4_939.0 / 3_887.0,
    );
    // A row with another upstream has its own base.
    close(
        median(nginx, "httpbin 2 OpenAPI, both", "ratio", "published"),
        6_508.0 / 8_691.0,
    );
    assert_eq!(
        median(nginx, "httpbin 1 OpenAPI, request", "ratio", "published"),
        None
    );
    // 64 connections ÷ 41,000 requests/s is 1.56 ms, or 2 ms in whole milliseconds.
    close(
        Some(correction(&found, "Times in whole").rows[0].their_way),
        2e6,
    );
}

#[test]
fn a_limited_base_has_no_ratio_of_rates() {
    // The load generator was busier than the gateway.
    let found = columns("soap", plan(&["soap-0", "soap-1"]), |made| {
        if made.record.trial.scenario == "soap-0" {
            made.used("saturate", "engine").cpu_ns = SECONDS * SECOND_NS;
        }
    });
    let nginx = table(&found, "nginx: performance");
    let row = nginx.rows.iter().find(|it| it.name == "1 WSDL, request");
    let words: Vec<_> = row
        .unwrap()
        .cells
        .iter()
        .filter_map(|it| it.words.as_deref())
        .collect();
    assert!(words.contains(&"base limited"), "{words:?}");
    assert_eq!(median(nginx, "1 WSDL, request", "ratio", "here"), None);
    let published = median(nginx, "1 WSDL, request", "ratio", "published");
    close(published, 9_071.0 / 12_908.0);
}
