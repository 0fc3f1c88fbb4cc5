//! The gates for steady state: a figure over a phase is valid only if it did not drift.
//!
//! Throughput is tested in bins of 100 ms, and CPU time per request in bins of 100 ms or more. Bins
//! of one second are used for the median response time (which needs more responses), for the CPU
//! time of a gateway on another host, and in measurements without recorded bins. External load
//! generators record no figures over time.

use gatebench_report::format::percent;
use gatebench_stats::drift::BINS_MIN;
use gatebench_stats::{Trend, drift, trend};
use gatebench_store::{BinsRecord, PhaseRecord, SeriesRow};

use super::View;
use super::thresholds::{
    BIN_RESPONSES_MIN, CPU_DRIFT_MAX, DRIFT_P_MAX, LATENCY_DRIFT_MAX, THROUGHPUT_DRIFT_MAX,
    TREND_P_MAX,
};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

pub(super) struct Tested {
    subject: Subject,
    trend: Trend,
    /// The number and size of the values: `30 bins of 100 ms`, `12 seconds`.
    over: String,
    p_max: f64,
}

/// The name of a figure, the aspects that are limited if it drifts, and the largest drift that does
/// not matter.
type Subject = (&'static str, &'static [Aspect], f64);

/// The values of a figure over time, each merged from `merged` bins.
struct Series {
    values: Vec<f64>,
    bin: Bin,
    merged: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bin {
    TenthOfSecond,
    Second,
}

impl Series {
    fn of(bin: Bin, values: Vec<f64>) -> Self {
        Self {
            values,
            bin,
            merged: 1,
        }
    }

    /// For example `30 bins of 100 ms`.
    fn size(&self) -> String {
        let count = self.values.len();
        match (self.bin, self.merged) {
            (Bin::TenthOfSecond, merged) => format!("{count} bins of {} ms", 100 * merged),
            (Bin::Second, 1) => format!("{count} seconds"),
            (Bin::Second, merged) => format!("{count} bins of {merged} s"),
        }
    }
}

impl Tested {
    /// Returns `None` if the series has too few values, or if their median is zero.
    fn of(subject: Subject, series: &Series) -> Option<Self> {
        let values = &series.values;
        // A few values of one second are not enough to estimate their correlation.
        let is_short = series.bin == Bin::Second && values.len() < BINS_MIN;
        let (trend, p_max) = match is_short {
            true => (trend(values)?, TREND_P_MAX),
            false => (drift(values)?, DRIFT_P_MAX),
        };
        Some(Self {
            subject,
            trend,
            over: series.size(),
            p_max,
        })
    }
}

/// An untested figure is not reported as valid. If the built-in load generator recorded no bins, a
/// note on the run replaces this reason.
pub(super) fn untested(view: &View) -> Option<Reason> {
    let external = view.phase.external.as_ref();
    let may_be_tested = view.phase.bins.is_some() || external.is_some();
    (is_meant_to_be_steady(view) && may_be_tested).then_some(())?;
    let spoils = untested_aspects(view);
    (!spoils.is_empty()).then_some(())?;
    let (message, remedy) = match external {
        Some(external) => (
            format!(
                "Steady state was not tested: {} records no figures over time.",
                external.engine
            ),
            "Repeat the run with gatebench's own load generator: omit --engine and, in a specification, replace `script` by `path`.",
        ),
        None => (
            format!(
                "Steady state was not tested: the test needs {BINS_MIN} bins, each of 100 ms or more, with \
                 {BIN_RESPONSES_MIN:.0} responses on average."
            ),
            "Lengthen the measurement of the load profile.",
        ),
    };
    Some(view.limited(Gate::SteadinessUntested, &spoils, message, remedy))
}

/// The aspects of a phase that were not tested. If the CPU time is unknown, no test of it is
/// needed.
fn untested_aspects(view: &View) -> Vec<Aspect> {
    let is_known = view.phase.usage.contains_key(measured(view));
    let cpu = match cpu(view) {
        None if is_known => aspects_of_cpu(view.kind()),
        _ => &[],
    };
    let other: &[Aspect] = match view.kind() {
        PhaseKind::Closed if throughput(view).is_none() => &[Aspect::Throughput],
        // If the CPU time is unknown, the latency test decides.
        PhaseKind::Paced | PhaseKind::Open if !is_known && latency(view).is_none() => {
            &[Aspect::Latency]
        }
        _ => &[],
    };
    [other, cpu].concat()
}

pub(super) fn throughput(view: &View) -> Option<Tested> {
    (is_meant_to_be_steady(view) && view.kind() == PhaseKind::Closed).then_some(())?;
    let subject: Subject = ("throughput", &[Aspect::Throughput], THROUGHPUT_DRIFT_MAX);
    let Some(bins) = &view.phase.bins else {
        let seconds = whole_seconds(view.series, view.phase);
        let counts = seconds.map(|row| row.completed as f64).collect();
        return Tested::of(subject, &Series::of(Bin::Second, counts));
    };
    let (lengths, rest) = (lengths_ns(bins), &bins.responses);
    let rates = rest.iter().zip(lengths);
    let rates = rates.map(|(count, length_ns)| *count as f64 * 1e9 / length_ns);
    Tested::of(subject, &Series::of(Bin::TenthOfSecond, rates.collect()))
}

pub(super) fn cpu(view: &View) -> Option<Tested> {
    is_meant_to_be_steady(view).then_some(())?;
    let aspects = aspects_of_cpu(view.kind());
    let subject = ("CPU time per request", aspects, CPU_DRIFT_MAX);
    let is_upstream = measured(view) == "upstream";
    if let Some(bins) = &view.phase.bins {
        let cpu_ns = match is_upstream {
            true => &bins.upstream_cpu_ns,
            false => &bins.gateway_cpu_ns,
        };
        if !cpu_ns.is_empty() {
            return Tested::of(subject, &costs(Bin::TenthOfSecond, &bins.responses, cpu_ns));
        }
    }
    // A gateway on another host is sampled once a second, and a long load has no bins.
    let second = |row: &SeriesRow| {
        let usage = match is_upstream {
            true => row.upstream,
            false => row.gateway,
        };
        Some((row.completed, usage?.cpu_ns))
    };
    let seconds = whole_seconds(view.series, view.phase).filter_map(second);
    let (responses, cpu_ns): (Vec<u64>, Vec<u64>) = seconds.unzip();
    Tested::of(subject, &costs(Bin::Second, &responses, &cpu_ns))
}

/// Tests the median response time of an open load, or of a closed load with a think time.
pub(super) fn latency(view: &View) -> Option<Tested> {
    let is_paced = matches!(view.kind(), PhaseKind::Paced | PhaseKind::Open);
    (is_meant_to_be_steady(view) && is_paced).then_some(())?;
    let seconds = whole_seconds(view.series, view.phase);
    let medians = seconds.filter_map(|row| row.response_p50_ns.map(|p50| p50 as f64));
    let subject: Subject = (
        "median response time",
        &[Aspect::Latency],
        LATENCY_DRIFT_MAX,
    );
    Tested::of(subject, &Series::of(Bin::Second, medians.collect()))
}

/// A phase with a deliberate change or failure need not be steady.
fn is_meant_to_be_steady(view: &View) -> bool {
    view.phase.change.is_none() && view.phase.failure.is_none()
}

fn measured(view: &View) -> &'static str {
    if view.is_direct() {
        "upstream"
    } else {
        "gateway"
    }
}

/// In open and paced loads, a drift of the CPU time also limits latency.
fn aspects_of_cpu(kind: PhaseKind) -> &'static [Aspect] {
    match kind {
        PhaseKind::Closed | PhaseKind::SideBySide => &[Aspect::CpuPerRequest],
        PhaseKind::Paced | PhaseKind::Open => &[Aspect::CpuPerRequest, Aspect::Latency],
    }
}

fn lengths_ns(bins: &BinsRecord) -> impl Iterator<Item = f64> {
    let begins = std::iter::once(&0).chain(&bins.ends_ns);
    let pairs = begins.zip(&bins.ends_ns);
    pairs.map(|(begin, end)| end.saturating_sub(*begin).max(1) as f64)
}

/// The series of CPU time per request. Neighboring bins are merged until they have enough responses
/// on average.
fn costs(bin: Bin, responses: &[u64], cpu_ns: &[u64]) -> Series {
    let mean = responses.iter().sum::<u64>() as f64 / responses.len().max(1) as f64;
    let neighbors = (BIN_RESPONSES_MIN / mean.max(f64::MIN_POSITIVE))
        .ceil()
        .max(1.0);
    let neighbors = (neighbors as usize).min(responses.len().max(1));
    let sum = |bins: &[u64]| bins.iter().sum::<u64>() as f64;
    let pairs = responses
        .chunks_exact(neighbors)
        .zip(cpu_ns.chunks_exact(neighbors));
    // A bin without a response has no cost per request.
    let answered = pairs.filter(|(responses, _)| sum(responses) > 0.0);
    let costs = answered.map(|(responses, cpu_ns)| sum(cpu_ns) / sum(responses));
    Series {
        values: costs.collect(),
        bin,
        merged: neighbors,
    }
}

pub(super) fn not_steady(view: &View, tested: Tested) -> Option<Reason> {
    let (Trend { p, drift }, (what, aspects, drift_max)) = (tested.trend, tested.subject);
    (p < tested.p_max && drift.abs() > drift_max).then_some(())?;
    let direction = if drift > 0.0 { "rose" } else { "fell" };
    let message = format!(
        "The {what} {direction} by {} of its median over {} (Mann-Kendall p = {p:.3}).",
        percent(drift.abs()),
        tested.over
    );
    let remedy = "Lengthen the warm-up of the load profile, or raise `warmup.max` in gateway.yaml.";
    Some(view.limited(Gate::NotSteady, aspects, message, remedy))
}

/// The rows of a phase, excluding an incomplete last second.
pub(crate) fn whole_seconds<'a>(
    series: &'a [SeriesRow],
    phase: &'a PhaseRecord,
) -> impl Iterator<Item = &'a SeriesRow> {
    let whole = phase.measure_ns / 1_000_000_000;
    series
        .iter()
        .filter(move |row| row.phase == phase.name && u64::from(row.second) < whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day of costs, one per second, that grow by this share and have noise that is correlated
    /// over a minute.
    fn day(growth: f64) -> Series {
        let cost = |second: u32| {
            let noise = 0.1 * (f64::from(second) / 60.0).sin();
            1_000.0 * (1.0 + noise + growth * f64::from(second) / 86_400.0)
        };
        Series::of(Bin::Second, (0..86_400).map(cost).collect())
    }

    #[test]
    fn a_day_of_seconds_is_tested_quickly_and_despite_correlation() {
        let tested = |growth| Tested::of(("cost", &[], 0.05), &day(growth)).unwrap();
        let flat = tested(0.0);
        assert!(flat.trend.drift.abs() < 0.01, "{:?}", flat.trend);
        let rising = tested(0.2);
        assert!(rising.trend.p < rising.p_max, "{:?}", rising.trend);
        assert!(
            (0.15..0.25).contains(&rising.trend.drift),
            "{:?}",
            rising.trend
        );
        assert_eq!(rising.over, "86400 seconds");
    }

    #[test]
    fn seconds_with_few_responses_are_merged_and_idle_ones_keep_their_cpu_time() {
        let merged = costs(Bin::Second, &[5, 0, 5, 10], &[50, 30, 20, 120]);
        assert_eq!(merged.values, [16.0, 28.0 / 3.0]);
        assert_eq!(merged.size(), "2 bins of 2 s");
    }
}
