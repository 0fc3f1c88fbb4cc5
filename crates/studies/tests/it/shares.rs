//! Loads at shares of each gateway's saturation.

use gatebench_model::load::{Open, Spread};
use gatebench_model::{Length, Shape, Shares, Study, Variant};
use gatebench_store::{Run, RunWriter, Status};
use gatebench_studies::Findings;
use gatebench_studies::analyse;
use gatebench_studies::{Next, after_load};
use tempfile::TempDir;

use crate::common::{SECOND_NS, SECONDS, every_cell, made, manifest};

/// A gateway's saturation, in requests per second.
fn saturation(variant: &str) -> f64 {
    if variant == "nginx" {
        20_000.0
    } else {
        8_000.0
    }
}

fn run(blocks: u32, change: impl Fn(&mut Shares)) -> Findings {
    let mut manifest = manifest(blocks);
    let mut shares = Shares::new(vec![50, 90], Length::Full);
    change(&mut shares);
    manifest.plan.study = Study::Measure(Some(shares));
    manifest.plan.variants = ["nginx", "haproxy"]
        .map(|name| Variant::gateway(name, name))
        .into();
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    let dir = TempDir::new().unwrap();
    let mut writer = RunWriter::create(dir.path(), manifest.clone()).unwrap();
    for trial in &manifest.plan.trials {
        let mut made = made(&crate::common::manifest(1), trial);
        let template = made.closed().clone();
        for percent in [100, 50, 90] {
            let rate = saturation(&trial.variant) * f64::from(percent) / 100.0;
            let mut phase = template.clone();
            phase.name = format!("at-{percent}");
            phase.saturation_percent = Some(percent);
            phase.measure_ns = SECONDS * SECOND_NS;
            phase.sums.clear();
            if percent < 100 {
                phase.shape = Shape::Open(Open::new(rate));
            }
            let requests = (rate * SECONDS as f64) as u64;
            phase.counts.intended = requests;
            phase.counts.sent = requests;
            phase.counts.completed = requests;
            phase.counts.completed_in_window = requests;
            phase.counts.by_class = [("2xx".to_owned(), requests)].into();
            phase.counts.bytes_sent = requests * 80;
            phase.counts.bytes_received = requests * 200;
            phase.trace.traced = requests;
            phase.ledger.requests = requests;
            let name = phase.name.clone();
            made.record.phases.push(phase);
            let slow_ns = u64::from(percent) * 100_000;
            for metric in ["response", "added"] {
                let slow = requests * 3 / 100;
                let values = [(100_000, requests - slow), (slow_ns, slow)];
                made.record_values(&name, metric, &values);
            }
        }
        let open = writer.begin_trial(trial).unwrap();
        std::fs::write(open.gateway_folder().join("nginx.conf"), "events {}").unwrap();
        open.finish(made.record, &made.intervals, &made.rows)
            .unwrap();
    }
    writer.set_status(Status::Finished).unwrap();
    analyse(&Run::open(dir.path()).unwrap()).unwrap()
}

#[test]
fn each_load_follows_from_the_measured_saturation() {
    let mut manifest = manifest(1);
    let shares = Shares::new(vec![50, 90], Length::Full);
    manifest.plan.study = Study::Measure(Some(shares));
    let plan = &manifest.plan;
    let trial = |label: &str| plan.trials.iter().find(|it| it.variant == label).unwrap();
    let mut nginx = made(&manifest, trial("nginx"));
    let template = nginx.closed().clone();
    let offered = |responses: u64| {
        let mut record = nginx.record.clone();
        let mut offered = Vec::new();
        let last = loop {
            let further = match after_load(plan, &[], &record) {
                Next::Load(further) => further,
                last => break last,
            };
            let mut phase = template.clone();
            phase.shape = further.phase.shape.clone();
            phase.measure_ns = SECONDS * SECOND_NS;
            phase.counts.completed_in_window = responses;
            further.mark(&mut phase, &[]);
            let rate = match &phase.shape {
                Shape::Open(open) => open.rate_per_second,
                Shape::Closed(_) => 0.0,
            };
            offered.push((further.phase.name.clone(), phase.saturation_percent, rate));
            record.phases.push(phase);
        };
        (offered, last)
    };
    let load = |name: &str, percent, rate| (name.to_owned(), Some(percent), rate);
    let (loads, last) = offered(20_000 * SECONDS);
    let expected = [
        load("saturation", 100, 0.0),
        load("at-50", 50, 10_000.0),
        load("at-90", 90, 18_000.0),
    ];
    assert_eq!(loads, expected);
    assert!(matches!(last, Next::Continue));
    let (loads, last) = offered(0);
    assert_eq!(loads, expected[..1]);
    assert!(matches!(last, Next::Stop(why) if why.contains("no request got a response")));
    let direct = made(&manifest, trial("direct"));
    let next = after_load(plan, &[], &direct.record);
    assert!(matches!(next, Next::Continue));
}

#[test]
fn the_reported_load_is_the_planned_one() {
    let title = |change: fn(&mut Shares)| {
        let findings = run(1, change);
        let mut sections = findings.sections.iter();
        let section = sections.find(|it| it.id == "shares").unwrap();
        assert!(!section.explanation.contains("64"));
        section.table.title.clone()
    };
    assert_eq!(
        title(|_| ()),
        "latency at shares of saturation (64 connections, Poisson arrivals)"
    );
    assert_eq!(
        title(|shares| {
            shares.connections = 16;
            shares.arrivals = Spread::Uniform;
        }),
        "latency at shares of saturation (16 connections, uniform arrivals)"
    );
}

#[test]
fn each_row_has_its_own_rate_and_is_not_a_load_of_the_profile() {
    let findings = run(2, |_| ());
    let section = findings
        .sections
        .iter()
        .find(|it| it.id == "shares")
        .unwrap();
    let rows: Vec<(&str, Option<f64>)> = section
        .table
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.cells[0].median()))
        .collect();
    assert_eq!(
        rows,
        [
            ("nginx · 50 %", Some(10_000.0)),
            ("nginx · 90 %", Some(18_000.0)),
            ("nginx · saturation", None),
            ("haproxy · 50 %", Some(4_000.0)),
            ("haproxy · 90 %", Some(7_200.0)),
            ("haproxy · saturation", None),
        ]
    );
    // The first four columns are offered, achieved, added p50 and added p99.
    let p99_ns = |row: usize| section.table.rows[row].cells[3].median();
    let reasons: Vec<_> = findings.trials.iter().flat_map(|it| &it.reasons).collect();
    assert!(
        p99_ns(0).is_some_and(|ns| (ns / 5e6 - 1.0).abs() < 0.01),
        "{reasons:?}"
    );
    assert!(p99_ns(1).is_some_and(|ns| (ns / 9e6 - 1.0).abs() < 0.01));
    assert_eq!(
        p99_ns(2),
        None,
        "the latency of a closed load is not reported"
    );
    let phases = findings.scenarios.iter().flat_map(|it| &it.phases);
    assert!(phases.clone().count() > 0);
    assert!(phases.clone().all(|it| !it.name.starts_with("at-")));
    let compared = findings.scenarios.iter().flat_map(|it| &it.rows);
    let mut metrics = compared.flat_map(|row| &row.metrics);
    assert!(metrics.all(|it| !it.phase.starts_with("at-")));
}
