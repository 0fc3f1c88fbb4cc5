//! Corrections of Kong's framework, whose load is 1,000 connections for 10 s, three times.

use gatebench_stats::concurrency;

use super::super::artefacts::as_wrk_means;
use super::super::measured::{Load, median_of};
use super::super::published::{FRAMEWORK_CONNECTIONS, FRAMEWORK_RUNS};
use super::super::sweep::connections;
use super::{effect, or_untold};
use crate::findings::{Aspect, Correction, CorrectionRow, CurveMetric, Unit};
use crate::words::{grouped, listed, percent};

/// A version and its runs.
type Version<'a> = (String, Vec<Load<'a>>);

/// What is corrected in the combined results.
pub(in super::super) fn of_versions(versions: &[Version<'_>]) -> Vec<Correction> {
    vec![in_flight(versions), drift(versions)]
}

fn in_flight(versions: &[Version<'_>]) -> Correction {
    let published = FRAMEWORK_RUNS.map(|(rate, mean_ms)| grouped(concurrency(rate, mean_ms * 1e6)));
    let row = |(name, runs): &Version<'_>| {
        let by_wrk = median_of(runs, Aspect::Latency, in_flight_by_wrk);
        effect(
            name,
            by_wrk,
            median_of(runs, Aspect::Latency, Load::in_flight),
        )
    };
    let correction = Correction {
        title: "A mean with added samples",
        published: format!(
            "By Little's law (rate × mean) {} requests were in flight on {} connections. That is no \
             contradiction: wrk adds samples for long requests before it prints, to correct for coordinated \
             omission, so its mean includes requests that were never sent. A steady load with 1 % of long \
             responses has such a mean. It is not the mean response time.",
            listed(&published),
            grouped(FRAMEWORK_CONNECTIONS)
        ),
        here: "The mean is that of the requests sent. Rate, mean and connections of a closed load are checked against \
               each other in every phase; where they disagree, throughput and latency of that phase are limited.",
        heads: ["rate × wrk's mean", "rate × mean"],
        unit: Unit::Count,
        rows: versions.iter().filter_map(row).collect(),
        untold: None,
    };
    or_untold(
        correction,
        "The run recorded no response times of a closed load.",
    )
}

/// Requests in flight by Little's law, with the mean that wrk would print of this load's response
/// times.
fn in_flight_by_wrk(load: &Load<'_>) -> Option<f64> {
    let times_ns = load.histogram(CurveMetric::Response)?;
    let connections = u64::from(connections(load)?);
    let mean_ns = as_wrk_means(times_ns, connections, load.phase.measure_ns)?;
    Some(concurrency(load.rate()?, mean_ns))
}

fn drift(versions: &[Version<'_>]) -> Correction {
    let (first, last) = (
        FRAMEWORK_RUNS[0].0,
        FRAMEWORK_RUNS[FRAMEWORK_RUNS.len() - 1].0,
    );
    let row = |(name, runs): &Version<'_>| -> Option<CorrectionRow> {
        let (first, last) = (runs.first()?, runs.last()?);
        let several = runs.len() > 1;
        effect(name, first.rate().filter(|_| several), last.rate())
    };
    let correction = Correction {
        title: "No warm-up, and no spread",
        published: format!(
            "Nothing is discarded before the first run: the last of three is {} above the first, and their mean is compared between \
             versions without a spread. 246 timeouts of one run are printed and have no consequence.",
            percent(last / first - 1.0)
        ),
        here: "Each load has a warm-up that is discarded; the range of the runs stands beside their mean, and requests without an \
               answer make a figure limited or invalid.",
        heads: ["first run", "last run"],
        unit: Unit::RequestsPerSecond,
        rows: versions.iter().filter_map(row).collect(),
        untold: None,
    };
    or_untold(correction, "Each version has one run.")
}
