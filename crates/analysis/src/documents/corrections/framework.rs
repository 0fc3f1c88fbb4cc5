//! Corrections of Kong's framework, whose load is 1,000 connections for 10 s, three times.

use gatebench_stats::concurrency;

use super::super::measured::{Load, median_of};
use super::super::published::{FRAMEWORK_CONNECTIONS, FRAMEWORK_RUNS};
use super::super::sweep::connections;
use super::{effect, or_untold};
use crate::findings::{Aspect, Correction, CorrectionRow, Unit};
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
        let asked = runs.iter().find_map(connections).map(f64::from);
        let by_law = median_of(runs, Aspect::Latency, Load::in_flight);
        effect(name, by_law, asked)
    };
    let correction = Correction {
        title: "More in flight than connections",
        published: format!(
            "By Little's law (rate × mean) {} requests were in flight on {} connections. The tool counts rates over a shorter time \
             than requests, or its latencies hold what waited in it.",
            listed(&published),
            grouped(FRAMEWORK_CONNECTIONS)
        ),
        here: "Rate, mean and connections of a closed load are held against each other in every phase, and a phase in which they \
               disagree is invalid.",
        heads: ["rate × mean", "connections"],
        unit: Unit::Count,
        rows: versions.iter().filter_map(row).collect(),
        untold: None,
    };
    or_untold(
        correction,
        "No load of a number of connections was measured.",
    )
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
