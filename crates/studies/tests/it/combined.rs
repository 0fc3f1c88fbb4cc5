//! The combined results of a specification, from stored runs whose numbers are known.

use gatebench_model::{Length, PlannedLength, Specified, Study};
use gatebench_store::{ErrorLog, SettleRecord};
use gatebench_studies::versions::facts::CombinedFindings;

use crate::common::{Made, analysed_run, manifest};

/// Runs of nginx with known values: the first phase has a mean of 1.6 ms, the second a mean of 2
/// ms.
fn found(combines: bool) -> Option<CombinedFindings> {
    found_of(combines, Length::Full)
}

fn found_of(combines: bool, length: Length) -> Option<CombinedFindings> {
    let mut planned = manifest(1);
    planned.plan.length = Some(PlannedLength {
        length,
        changes: Vec::new(),
    });
    planned.plan.study = Study::Versions(Specified {
        name: "single-route".into(),
        tags: vec!["routes".into()],
        combines,
        saves_error_log: true,
        ..Specified::default()
    });
    let make = |mut made: Made| {
        if made.is("nginx") {
            made.record_values(
                "saturate",
                "response",
                &[(1_000_000, 360_000), (7_000_000, 40_000)],
            );
            made.record_values("steady", "response", &[(2_000_000, 50_000)]);
            made.open().settled = Some(SettleRecord {
                asked_load_per_core: 0.2,
                load_per_core: 0.5,
                waited_ns: 90_000_000_000,
                settled: false,
            });
            let gateway = made.record.gateway.as_mut().unwrap();
            gateway.error_log = Some(ErrorLog {
                file: "gateway/gateway.stderr.log".into(),
                lines: 3,
            });
        }
        Some(made)
    };
    analysed_run(planned, make).1.study.of().cloned()
}

#[test]
fn means_are_weighted_and_percentiles_are_those_of_each_run() {
    let found = found(true).unwrap();
    assert_eq!(found.specification, "single-route");
    let nginx = found
        .versions
        .iter()
        .find(|it| it.variant == "nginx")
        .unwrap();
    assert_eq!(nginx.version.as_deref(), Some("1.22.1"));
    let [first, second] = &nginx.runs[..] else {
        panic!("{:?}", nginx.runs)
    };
    assert_eq!(
        (first.mean_ns, first.max_ns),
        (Some(1.6e6), Some(7_000_000))
    );
    let near = |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 0.001;
    assert!(
        near(first.p90_ns, 1e6) && near(first.p99_ns, 7e6),
        "{first:?}"
    );
    assert!(
        near(second.p90_ns, 2e6) && near(second.p99_ns, 2e6),
        "{second:?}"
    );
    let p90 = nginx.p90_ns.as_ref().unwrap();
    let [low, high] = [&p90.min, &p90.max].map(|it| Some(*it));
    assert_eq!((low, high), (first.p90_ns, second.p90_ns));
    assert!(
        near(Some(p90.median), 1.5e6),
        "the median of two runs is their mean: {p90:?}"
    );
    let combined = nginx.combined.unwrap();
    assert_eq!(combined.mean_ns, Some((8.0 * 1.6e6 + 2e6) / 9.0));
    let rates = [first.rate_per_second, second.rate_per_second];
    assert_eq!(combined.rate_mean_per_second, (rates[0] + rates[1]) / 2.0);
    assert_eq!(combined.rate_max_per_second, rates[0].max(rates[1]));
    assert!(!second.settled.unwrap().settled && first.settled.is_none());
    assert_eq!(nginx.error_logs.len(), 1);
    assert!(
        nginx.error_logs[0]
            .file
            .ends_with("-nginx-b1/gateway/gateway.stderr.log")
    );
    assert_eq!(nginx.error_logs[0].lines, 3);
}

#[test]
fn nothing_is_combined_unless_requested() {
    assert!(found(false).is_none());
}

#[test]
fn a_smoke_run_has_no_rates_to_combine() {
    assert!(found_of(true, Length::Smoke).is_none());
}
