//! The effect of a change on a load is recovered from stored seconds with known values.

use gatebench_model::admin::AdminVerb;
use gatebench_model::load::GatewayChange;
use gatebench_report::Validity;
use gatebench_store::{AdminLoadRecord, ChangeRecord, Histogram, Manifest, TaggedInterval};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Gate, Metric, PhaseKind, Reason};

use crate::common::{Made, SECOND_NS, analysed_run, manifest, row, trial};

/// A second of the measurement: responses of 1 ms, some slower ones, and failures.
struct Second {
    slow: (u64, u64),
    failed: u64,
}

/// The change is in the middle of the fourth second; each of ten seconds has 5,000 fast responses.
fn found(seconds: impl Fn(u64) -> Second) -> Findings {
    found_in(seconds, |_| {})
}

/// Like [`found`], with further changes to nginx's trials.
fn found_in(seconds: impl Fn(u64) -> Second, further: impl Fn(&mut Made)) -> Findings {
    let mut planned = manifest(3);
    planned.plan.load.phases[1].change = Some(GatewayChange {
        action: "reload".into(),
        at: "3500ms".parse().unwrap(),
        every: None,
    });
    let change = |mut made: Made| {
        if made.is("nginx") {
            made.open().change = Some(ChangeRecord {
                action: "reload".into(),
                began_ns: 3_500_000_000,
                took_ns: 1_000_000,
                effective_ns: Some(20_000_000),
                ..ChangeRecord::default()
            });
            // The gateway's workers are replaced.
            made.used("steady", "gateway").processes_ended = 1;
            made.intervals.retain(|it| it.tag != "steady.response.2xx");
            for second in 0..10 {
                let Second { slow, failed } = seconds(second);
                made.intervals
                    .push(interval("2xx", second, &[(1_000_000, 5_000), slow]));
                if failed > 0 {
                    made.intervals
                        .push(interval("failed", second, &[(9_000_000, failed)]));
                }
            }
            further(&mut made);
        }
        Some(made)
    };
    analysed_run(planned, change).1
}

fn interval(class: &str, second: u64, values: &[(u64, u64)]) -> TaggedInterval {
    let mut histogram = Histogram::new_with_bounds(1, 60 * SECOND_NS, 3).unwrap();
    for (value, count) in values {
        histogram.record_n(*value, *count).unwrap();
    }
    TaggedInterval {
        tag: format!("steady.response.{class}"),
        start_ns: second * SECOND_NS,
        duration_ns: SECOND_NS,
        histogram,
    }
}

fn median(findings: &Findings, metric: Metric) -> Option<f64> {
    let found = row(findings, "nginx").metric(PhaseKind::Open, metric)?;
    found.estimate.as_ref().map(|estimate| estimate.median)
}

#[test]
fn the_effects_of_a_change_are_measured() {
    let findings = found(|second| match second {
        3 => Second {
            slow: (250_000_000, 40),
            failed: 7,
        },
        4 => Second {
            slow: (30_000_000, 100),
            failed: 0,
        },
        // A later disturbance: its slow requests count as affected, but do not delay the recovery.
        8 => Second {
            slow: (5_000_000, 60),
            failed: 0,
        },
        // The seconds before the change and after recovery.
        _ => Second {
            slow: (4_000_000, 2),
            failed: 0,
        },
    });
    assert_eq!(median(&findings, Metric::ChangeErrors), Some(7.0));
    assert_eq!(median(&findings, Metric::ChangeAffected), Some(207.0));
    let worst = median(&findings, Metric::ChangeWorst).unwrap();
    assert!((worst - 250e6).abs() < 0.001 * 250e6, "{worst}");
    // The fifth second ends 1.5 s after the change.
    assert_eq!(median(&findings, Metric::ChangeRecovery), Some(1.5e9));
    let nginx = row(&findings, "nginx");
    let ended = nginx
        .reasons
        .iter()
        .any(|it| it.message.contains("ended during"));
    assert!(!ended, "a reload replaces workers: {:?}", nginx.reasons);
    let said: Vec<_> = findings
        .headlines
        .iter()
        .map(|it| it.text.as_str())
        .collect();
    let expected = "the change affected 207 requests (207–207 over 3 blocks), of which 7 failed; the \
                    longest took 250 ms; the service recovered after 1.50 s; the change took effect after 20.0 ms";
    assert!(said.iter().any(|text| text.contains(expected)), "{said:#?}");
    assert!(
        said.iter()
            .any(|text| text.contains("5,000 requests/s, reload at 3500ms"))
    );
}

#[test]
fn a_change_without_effect_needs_no_recovery() {
    let findings = found(|_| Second {
        slow: (4_000_000, 2),
        failed: 0,
    });
    assert_eq!(median(&findings, Metric::ChangeAffected), Some(0.0));
    assert_eq!(median(&findings, Metric::ChangeRecovery), Some(0.0));
}

#[test]
fn a_change_without_recovery_has_no_recovery_time() {
    let findings = found(|second| Second {
        slow: (4_000_000, 2),
        failed: u64::from(second >= 3),
    });
    assert_eq!(median(&findings, Metric::ChangeErrors), Some(7.0));
    assert_eq!(median(&findings, Metric::ChangeRecovery), None);
    assert_ne!(row(&findings, "haproxy").validity, Some(Validity::Invalid));
    let other = row(&findings, "haproxy").metric(PhaseKind::Open, Metric::ChangeAffected);
    assert!(other.is_none(), "haproxy was not changed");
}

/// The reasons against nginx's first trial if the third second has these numbers of requests
/// without a response and of wrong responses.
fn reasons_before(unanswered: u64, wrong: u64) -> Vec<Reason> {
    let found = found_in(
        |second| Second {
            slow: (4_000_000, 2),
            failed: if second == 2 { unanswered } else { 0 },
        },
        |made| {
            let mut rows = made.rows.iter_mut();
            let row = rows.find(|row| row.phase == "steady" && row.second == 2);
            row.unwrap().failed = unanswered + wrong;
            let counts = &mut made.open().counts;
            counts.errors = [("reset".to_owned(), unanswered)].into();
            counts.checks_failed = [("status is 200".to_owned(), wrong)].into();
        },
    );
    let reasons = trial(&found, "nginx").reasons.iter();
    let of_failures = |it: &&Reason| [Gate::RequestErrors, Gate::ChecksFailed].contains(&it.gate);
    reasons.filter(of_failures).cloned().collect()
}

#[test]
fn failures_before_a_change_are_not_its_effect() {
    let found = reasons_before(3, 0);
    let [reason] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(
        (reason.gate, reason.validity),
        (Gate::RequestErrors, Validity::Limited)
    );
    assert_eq!(
        reason.message,
        "3 requests got no response before the change began (0.020 % of all requests until then)."
    );
    let found = reasons_before(0, 2);
    let [reason] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(
        (reason.gate, reason.validity),
        (Gate::ChecksFailed, Validity::Invalid)
    );
    assert_eq!(
        reason.message,
        "2 responses failed the checks before the change began."
    );
    assert_eq!(reasons_before(0, 0), []);
}

fn with_admin() -> Manifest {
    let mut manifest = manifest(2);
    let admin = serde_json::json!({
        "rounds": 1, "route": {"name": "r", "path": "/r"}, "updated_path": "/s", "ask": "/json"
    });
    manifest.plan.scenarios[0].admin = Some(serde_json::from_value(admin).unwrap());
    manifest
}

/// A run of two blocks with periodic calls during nginx's open load. In each block, `created` of
/// the calls create a route, 900 requests get no response, and 100 get a wrong one.
fn called(every_ns: u64, created: usize) -> Findings {
    let change = |mut made: Made| {
        if made.is("nginx") {
            let phase = made.open();
            phase.admin = Some(AdminLoadRecord {
                routes: 1_000,
                every_ns,
                took_ns: [(AdminVerb::Create, vec![1; created])].into(),
                ..AdminLoadRecord::default()
            });
            phase.counts.errors = [("reset".to_owned(), 900)].into();
            phase.counts.checks_failed = [("status is 200".to_owned(), 100)].into();
            phase.trace.never_reached_upstream = 100;
        }
        Some(made)
    };
    analysed_run(with_admin(), change).1
}

fn of_losses(found: &Findings) -> Vec<(Gate, Validity)> {
    let all = [
        Gate::RequestErrors,
        Gate::ChecksFailed,
        Gate::NeverReachedUpstream,
    ];
    let reasons = trial(found, "nginx").reasons.iter();
    reasons
        .filter(|it| all.contains(&it.gate))
        .map(|it| (it.gate, it.validity))
        .collect()
}

#[test]
fn requests_that_fail_during_changes_by_admin_calls_count_as_lost() {
    let found = called(100_000_000, 25);
    let limited = [
        (Gate::ChecksFailed, Validity::Limited),
        (Gate::RequestErrors, Validity::Limited),
    ];
    assert_eq!(of_losses(&found), limited);
    let text = "nginx lost 2,000 of 100,000 requests (2.0 %) in 'steady' while it was changed 50 times through its admin \
                interface.";
    assert!(
        found.headlines.iter().any(|it| it.text == text),
        "{:#?}",
        found.headlines
    );
    let section = found.sections.iter().find(|it| it.id == "admin-losses");
    let rows = &section.unwrap().table.rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].name, "nginx · 'steady', 1,000 routes");
    let cells: Vec<_> = rows[0].cells.iter().map(|cell| cell.median()).collect();
    let counted = [50.0, 100_000.0, 1_800.0, 200.0, 40.0].map(Some);
    assert_eq!(cells, counted);
}

#[test]
fn requests_that_fail_without_a_change_do_not_count_as_lost() {
    let found = called(100_000_000, 0);
    let invalid = |it: &(Gate, Validity)| it.1 == Validity::Invalid;
    assert_eq!(of_losses(&found).iter().filter(|it| invalid(it)).count(), 2);
    assert!(found.sections.iter().all(|it| it.id != "admin-losses"));
}

#[test]
fn requests_that_fail_before_the_first_call_count_against_the_trial() {
    let change = |mut made: Made| {
        if made.is("nginx") {
            made.open().admin = Some(AdminLoadRecord {
                every_ns: 2 * SECOND_NS,
                took_ns: [(AdminVerb::Create, vec![1])].into(),
                ..AdminLoadRecord::default()
            });
            made.open().counts.checks_failed = [("status is 200".to_owned(), 3)].into();
            let mut rows = made.rows.iter_mut();
            let row = rows.find(|row| row.phase == "steady" && row.second == 1);
            row.unwrap().failed = 3;
        }
        Some(made)
    };
    let found = analysed_run(with_admin(), change).1;
    assert!(of_losses(&found).contains(&(Gate::ChecksFailed, Validity::Invalid)));
}
