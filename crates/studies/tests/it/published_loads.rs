//! Sweeps, sizes and versions in the columns of published documents.

use gatebench_model::Shape;
use gatebench_report::Validity;
use gatebench_store::CeilingRecord;

use crate::common::{Made, SECOND_NS, SECONDS};
use crate::published::{close, columns, correction, median, plan, table};

#[test]
fn the_sweep_has_a_row_for_each_number_and_a_column_for_each_target() {
    let mut manifest = plan(&["ping-proxied"]);
    let Shape::Closed(closed) = &mut manifest.plan.load.phases[0].shape else {
        panic!("the first load is closed");
    };
    closed.connections = 16;
    let found = columns("kong-vs-nginx", manifest, |made| {
        let all = made.closed().counts.completed;
        made.record_values(
            "saturate",
            "response",
            &[(16 * SECOND_NS * SECONDS / all, all)],
        );
    });
    let rates = &found.tables[0];
    assert_eq!(rates.rows.len(), 1);
    close(median(rates, "16", "document", "upstream"), 100_000.0);
    close(median(rates, "16", "document", "via nginx"), 41_000.0);
    close(median(rates, "16", "ratio", "via nginx"), 0.41);
    close(median(rates, "16", "ratio", "via Kong"), 6.6 / 12.5);
    let cores = &found.tables[1];
    assert_eq!(cores.groups.len(), 3);
    close(cores.rows[0].cells[3].median(), 0.99);
    // A mean of 0.39 ms, measured with a 10 ms timer.
    assert_eq!(correction(&found, "A timer").rows[1].their_way, 0.0);
}

#[test]
fn the_bare_network_and_the_share_reached_precede_the_sweep() {
    let mut manifest = plan(&["ping-proxied"]);
    manifest.plan.network_ceiling = true;
    let found = columns("kong-vs-nginx", manifest, |made| {
        if made.record.trial.variant == "direct" {
            made.closed().ceiling = Some(CeilingRecord {
                connections: 64,
                asked_bytes: 80,
                answered_bytes: 170,
                exchanges: 400_000,
                measure_ns: 2 * SECOND_NS,
            });
        }
    });
    let network = &found.tables[0];
    assert!(network.title.contains("80 B out and 170 B back"));
    close(median(network, "64", "network", "exchanges"), 200_000.0);
    close(
        median(network, "64", "network", "both ways"),
        200_000.0 * 250.0 * 8.0,
    );
    close(median(network, "64", "network", "upstream"), 0.5);
    close(median(network, "64", "network", "via nginx"), 0.205);
}

#[test]
fn each_scenario_has_a_network_ceiling_for_its_messages() {
    let mut manifest = plan(&["small", "large"]);
    manifest.plan.network_ceiling = true;
    let found = columns("kong-vs-nginx", manifest, |made| {
        if made.record.trial.variant == "direct" {
            let is_large = made.record.trial.scenario == "large";
            made.closed().ceiling = Some(CeilingRecord {
                connections: 64,
                asked_bytes: 80,
                answered_bytes: if is_large { 8_000 } else { 170 },
                exchanges: if is_large { 200_000 } else { 400_000 },
                measure_ns: 2 * SECOND_NS,
            });
        }
    });
    let network = &found.tables[0];
    let small = "small, 64 · 80 B out and 170 B back";
    let large = "large, 64 · 80 B out and 8000 B back";
    close(median(network, small, "network", "exchanges"), 200_000.0);
    close(median(network, large, "network", "exchanges"), 100_000.0);
    close(median(network, small, "network", "small: upstream"), 0.5);
    close(median(network, large, "network", "large: upstream"), 1.0);
    let names: Vec<&str> = network.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, [small, large]);
}

#[test]
fn sizings_have_a_peak_and_a_mean() {
    let scenarios = ["gravitee-passthrough", "gravitee-api-key"];
    let found = columns("gravitee", plan(&scenarios), |made| {
        for row in made
            .rows
            .iter_mut()
            .filter(|it| it.phase == "saturate" && it.second == 3)
        {
            row.completed *= 2;
        }
    });
    let nginx = table(&found, "nginx on 1 CPU");
    close(
        median(nginx, "passthrough", "document", "peak requests"),
        82_000.0,
    );
    close(
        median(nginx, "passthrough", "ours", "mean requests"),
        41_000.0,
    );
    close(median(nginx, "API key", "ratio", "here"), 1.0);
    close(
        median(nginx, "API key", "ratio", "published 0.5 CPU"),
        6_600.0 / 7_100.0,
    );
    close(
        median(nginx, "dummy upstream", "document", "peak requests"),
        200_000.0,
    );
    let row = nginx.rows.iter().find(|it| it.name == "mock").unwrap();
    assert_eq!(row.absence.as_deref(), Some("not in this run"));
    let peak = correction(&found, "The peak");
    let row = peak
        .rows
        .iter()
        .find(|it| it.name == "passthrough")
        .unwrap();
    assert_eq!((row.their_way, row.measured), (82_000.0, 41_000.0));
}

#[test]
fn versions_are_combined_over_their_runs() {
    let found = columns("kong-framework", plan(&["single-route"]), |_| {});
    let combined = table(&found, "single-route: combined results");
    close(
        median(combined, "nginx", "document", "requests mean"),
        41_000.0,
    );
    let means = [40_000_u64, 41_000, 42_000].map(|rate| (64 * SECOND_NS / rate) as f64);
    let requests = [400_000.0, 410_000.0, 420_000.0];
    let weighted = means
        .iter()
        .zip(requests)
        .map(|(mean, count)| mean * count)
        .sum::<f64>()
        / 1_230_000.0;
    close(
        median(combined, "nginx", "document", "latency mean"),
        weighted,
    );
    close(
        median(combined, "nginx", "document", "latency max"),
        means[0],
    );
    let runs = table(&found, "single-route: every run");
    assert_eq!(runs.rows.len(), 9);
    assert_eq!(runs.rows[4].name, "nginx · run 2");
    assert_eq!(runs.rows[4].validity, Some(Validity::Valid));
    let drift = correction(&found, "No warm-up");
    let nginx = drift.rows.iter().find(|it| it.name == "nginx").unwrap();
    assert_eq!((nginx.their_way, nginx.measured), (40_000.0, 42_000.0));
    let in_flight = correction(&found, "A mean with added samples");
    let row = in_flight.rows.iter().find(|it| it.name == "nginx").unwrap();
    // All responses of a run take the same time, so wrk adds nothing.
    assert!((row.measured - 64.0).abs() < 0.01, "{}", row.measured);
    assert!((row.their_way - 64.0).abs() < 0.1, "{}", row.their_way);
    assert!(
        in_flight.published.contains("1,170, 1,049 and 1,044"),
        "{}",
        in_flight.published
    );
}

#[test]
fn versions_without_runs_are_named_with_the_reason() {
    let mut manifest = plan(&["single-route", "balancer-weights"]);
    let mut at_a_rate = manifest.plan.load.clone();
    at_a_rate.phases.remove(0);
    let weights = [("balancer-weights".to_owned(), at_a_rate)];
    manifest.plan.scenario_loads = weights.into();
    let found = columns("kong-framework", manifest, |made| {
        if made.record.trial.scenario == "balancer-weights" {
            made.record.phases.retain(|it| it.name != "saturate");
            made.intervals.retain(|it| !it.tag.starts_with("saturate."));
            made.rows.retain(|it| it.phase != "saturate");
        }
    });
    let notes = found.notes.iter();
    let named: Vec<_> = notes
        .filter(|it| it.starts_with("balancer-weights"))
        .collect();
    assert_eq!(named.len(), 1, "{:?}", found.notes);
    assert!(
        named[0].contains("nginx and haproxy: its loads fix the rate"),
        "{named:?}"
    );
    assert!(found.notes.iter().all(|it| !it.starts_with("single-route")));
}

#[test]
fn an_invalid_run_is_not_combined_and_is_named() {
    // The percentiles contradict the sums; without this contradiction, the rate would be valid.
    let spoil = |made: &mut Made| {
        if made.is("nginx") && made.record.trial.block == 3 {
            let sum = made.closed().sums.get_mut("response.2xx").unwrap();
            sum.min_ns = SECOND_NS;
        }
    };
    let found = columns("kong-framework", plan(&["single-route"]), spoil);
    let combined = table(&found, "single-route: combined results");
    close(
        median(combined, "nginx", "document", "requests mean"),
        40_500.0,
    );
    close(
        median(combined, "haproxy", "document", "requests mean"),
        51_000.0,
    );
    let named = "single-route: 1 run of nginx (3) is invalid and not in its combined results.";
    assert!(
        found.notes.iter().any(|it| it == named),
        "{:?}",
        found.notes
    );
}
