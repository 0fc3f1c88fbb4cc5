//! The differences between the method of a published document and that of gatebench, each with its
//! effect on the run's figures.

use std::collections::BTreeSet;

use gatebench_model::Published;
use gatebench_model::published::{Effect, Figure, Figures, RowKind, StatedCorrection};
use gatebench_report::Unit;
use gatebench_stats::concurrency;
use gatebench_store::StoreError;

use super::artefacts::{as_bucketed, as_wrk_means, in_steps, mean_of_users_ns, steady_from};
use super::facts::{Correction, CorrectionRow};
use super::figures::{cell, median_of, points};
use super::measured::{Load, Measured};
use super::targets::{Target, connections, targets};
use super::versions;
use crate::common::facts::{Aspect, CurveMetric};

/// A measured row that shows the effects of corrections.
#[derive(Default)]
pub(super) struct Case<'a> {
    pub(super) name: String,
    /// The loads that correspond to the document's.
    pub(super) loads: Vec<Load<'a>>,
    /// The loads at one rate for all rows; empty in a run that has only the document's loads.
    pub(super) open: Vec<Load<'a>>,
    pub(super) published: Option<&'a Figures>,
}

/// The figures of a row: by the document's method, and as measured.
type Sides = [Option<f64>; 2];

/// Computes each correction of a document for all cases: the given rows of scenarios, the targets
/// at their largest number of connections, and the versions.
pub(super) fn of<'a>(
    document: &Published,
    measured: &Measured<'a>,
    mut cases: Vec<Case<'a>>,
) -> Result<Vec<Correction>, StoreError> {
    let case = |(name, loads)| Case {
        name,
        loads,
        ..Case::default()
    };
    let has = |kinds: &[RowKind]| document.tables.iter().any(|it| kinds.contains(&it.row));
    if has(&[RowKind::Connections]) {
        let targets = targets(measured);
        cases.extend(targets.iter().filter_map(Target::at_most).map(case));
    }
    if has(&[RowKind::Version, RowKind::Run]) {
        cases.extend(of_versions(measured).into_iter().map(case));
    }
    let stated = document.corrections.iter();
    stated.map(|it| correction(it, &cases)).collect()
}

fn of_versions<'a>(measured: &Measured<'a>) -> Vec<(String, Vec<Load<'a>>)> {
    let scenarios = &measured.run.manifest().plan.scenarios;
    let several = scenarios.len() > 1;
    let all = scenarios.iter().flat_map(|it| {
        let versions = versions::of(measured, &it.scenario).into_iter();
        versions.map(move |(variant, runs)| match several {
            true => (format!("{} · {variant}", it.scenario), runs),
            false => (variant.to_owned(), runs),
        })
    });
    all.collect()
}

fn correction(stated: &StatedCorrection, cases: &[Case<'_>]) -> Result<Correction, StoreError> {
    let mut rows = Vec::new();
    for case in cases {
        if let [Some(their_way), Some(measured)] = sides(stated, case, cases)? {
            rows.push(CorrectionRow {
                name: case.name.clone(),
                their_way,
                measured,
                ratio: (measured > 0.0).then(|| their_way / measured),
            });
        }
    }
    let ([their_way, measured], unit, why) = words(stated.effect);
    let why = stated.otherwise.as_deref().unwrap_or(why);
    let their_way = match stated.step_ms {
        Some(step_ms) if stated.effect == Effect::Rounded => format!("mean in {step_ms} ms"),
        _ => their_way.to_owned(),
    };
    Ok(Correction {
        title: stated.title.clone(),
        published: stated.published.clone(),
        here: stated.here.clone(),
        heads: [their_way, measured.to_owned()],
        unit,
        untold: rows.is_empty().then(|| why.to_owned()),
        rows,
    })
}

/// The headers of the two figures of an effect, their unit, and the reason why a run may be unable
/// to show it.
fn words(effect: Effect) -> ([&'static str; 2], Unit, &'static str) {
    use Unit::{Count, Nanoseconds, RequestsPerSecond};
    match effect {
        Effect::Buckets => (
            ["p95 by buckets", "p95"],
            Nanoseconds,
            "The added latency was not measured, or no load that measured it is valid. With \
             --as-published, it is never measured, because gatebench adds nothing to the \
             requests.",
        ),
        Effect::Users => (
            ["mean, document's user counts", "mean, equal user counts"],
            Nanoseconds,
            "As in the document, the rows of this run differ in their number of users: repeat the \
             run without --as-published.",
        ),
        Effect::Saturation => (
            ["p95 at saturation", "p95 at one rate"],
            Nanoseconds,
            "There is no valid load at one rate; with --as-published, there never is one.",
        ),
        Effect::Ramp => (
            ["rate with the ramp", "rate after it"],
            RequestsPerSecond,
            "No valid load of this run has a ramp that ends. With --as-published, the ramp is \
             measured; otherwise, it is discarded as warm-up.",
        ),
        Effect::Compression => (
            ["CPU without gzip", "CPU with gzip"],
            Unit::CpuNanosecondsPerRequest,
            "This run lacks the rows with gzip, or their CPU time is unknown.",
        ),
        Effect::MemoryAtEnd => (
            ["at the end", "the most"],
            Unit::Bytes,
            "The gateway's memory is unknown: add --pid to name its process tree.",
        ),
        Effect::Rounded => (
            ["mean", "mean"],
            Nanoseconds,
            "No response time was measured.",
        ),
        Effect::OneRun => (
            ["lowest block", "highest block"],
            RequestsPerSecond,
            "No row of this run was measured in more than one block.",
        ),
        Effect::Peak => (["peak", "mean"], RequestsPerSecond, "Nothing was measured."),
        Effect::SinceBeginning => (
            ["p95 of the whole", "p95 of the peak"],
            Nanoseconds,
            "Too few responses lie beyond the percentile in the seconds of the peak.",
        ),
        Effect::Dropped => (["sent", "due"], Count, "Nothing was measured."),
        Effect::WrkMean => (
            ["rate × wrk's mean", "rate × mean"],
            Count,
            "The run recorded no response times of a closed load.",
        ),
        Effect::Drift => (
            ["first run", "last run"],
            RequestsPerSecond,
            "No version was measured in more than one run.",
        ),
    }
}

fn sides(
    stated: &StatedCorrection,
    case: &Case<'_>,
    cases: &[Case<'_>],
) -> Result<Sides, StoreError> {
    use Aspect::{Latency, Memory, Throughput};
    let loads = &case.loads;
    let mean = || median_of(loads, Latency, Load::mean_ns);
    let rate = || median_of(loads, Throughput, Load::rate);
    let p95 = |loads: &[Load<'_>]| median_of(loads, Latency, |it| it.response_ns(95.0));
    Ok(match stated.effect {
        Effect::Buckets => bucketed(case, &stated.buckets_ms),
        Effect::Users => [at_its_users(case, cases, rate()), mean()],
        Effect::Saturation => [p95(loads), p95(&case.open)],
        Effect::Ramp => [rate(), median_of(loads, Throughput, steady_rate)],
        Effect::Compression => compressed(stated, case, cases),
        Effect::MemoryAtEnd => [
            median_of(loads, Memory, Load::memory_at_end_bytes),
            median_of(loads, Memory, Load::memory_bytes),
        ],
        Effect::Rounded => {
            let step_ns = stated.step_ms.unwrap_or_default() * 1e6;
            [mean().map(|it| in_steps(it, step_ns)), mean()]
        }
        Effect::OneRun => {
            let rates: Vec<f64> = loads.iter().filter_map(Load::rate).collect();
            let lowest = rates.iter().copied().reduce(f64::min);
            let highest = rates.iter().copied().reduce(f64::max);
            [lowest.filter(|_| rates.len() > 1), highest]
        }
        Effect::Peak => [median_of(loads, Throughput, Load::peak_rate), rate()],
        Effect::SinceBeginning => {
            let of_peak = points(loads, Figure::PeakP95)?;
            [p95(loads), cell(&of_peak).median()]
        }
        Effect::Dropped => {
            let counts = || loads.iter().map(|it| &it.phase.counts);
            let due: u64 = counts().map(|it| it.intended).sum();
            let sent: u64 = counts().map(|it| it.sent).sum();
            [sent, due].map(|it| (due > 0).then_some(it as f64))
        }
        Effect::WrkMean => [
            median_of(loads, Latency, in_flight_by_wrk),
            median_of(loads, Latency, Load::in_flight),
        ],
        Effect::Drift => {
            let first = loads.first().and_then(Load::rate);
            let last = loads.last().and_then(Load::rate);
            [first.filter(|_| loads.len() > 1), last]
        }
    })
}

/// The 95th percentile of added latency, first computed from buckets, then as measured. Loads at
/// one rate are preferred to those that correspond to the document's.
fn bucketed(case: &Case<'_>, bounds_ms: &[f64]) -> Sides {
    let of = |loads: &[Load<'_>]| {
        let by_buckets = median_of(loads, Aspect::Latency, |load| {
            as_bucketed(load.histogram(CurveMetric::Added)?, bounds_ms, 0.95)
        });
        let added = median_of(loads, Aspect::Latency, |load| load.added_ns(95.0));
        by_buckets.zip(added)
    };
    let both = of(&case.open).or_else(|| of(&case.loads));
    [both.map(|it| it.0), both.map(|it| it.1)]
}

/// The mean response time with the row's published number of users, which follows from the
/// published rate and mean (Little's law). `None` if the rows of the run also differ in their
/// number of users.
fn at_its_users(case: &Case<'_>, cases: &[Case<'_>], rate: Option<f64>) -> Option<f64> {
    let users = cases.iter().flat_map(|it| &it.loads);
    let users: BTreeSet<u32> = users.filter_map(Load::users).collect();
    let published = case.published.filter(|_| users.len() == 1)?;
    let (published_rate, mean_ms) = (published.get(Figure::Rate)?, published.get(Figure::Mean)?);
    let users = concurrency(published_rate, mean_ms * 1e6);
    Some(mean_of_users_ns(users, rate?))
}

/// CPU time per request of a row and of the row that it is paired with.
fn compressed(stated: &StatedCorrection, case: &Case<'_>, cases: &[Case<'_>]) -> Sides {
    let cpu = |case: &Case<'_>| median_of(&case.loads, Aspect::CpuPerRequest, Load::cpu_ns);
    let pair = stated.pairs.iter().find(|it| it.row == case.name);
    let other = pair.and_then(|pair| cases.iter().find(|it| it.name == pair.other));
    [cpu(case), other.and_then(cpu)]
}

/// Responses per second after the ramp, without the last second, which may be incomplete.
fn steady_rate(load: &Load<'_>) -> Option<f64> {
    let from = steady_from(&load.phase.shape, load.phase.measure_ns)? as usize;
    let seconds = load.seconds();
    let steady = seconds.get(from..seconds.len().saturating_sub(1))?;
    let sum: u64 = steady.iter().sum();
    (!steady.is_empty()).then(|| sum as f64 / steady.len() as f64)
}

/// Requests in flight by Little's law, from the mean that wrk would print for this load's response
/// times.
fn in_flight_by_wrk(load: &Load<'_>) -> Option<f64> {
    let times_ns = load.histogram(CurveMetric::Response)?;
    let connections = u64::from(connections(load)?);
    let mean_ns = as_wrk_means(times_ns, connections, load.phase.measure_ns)?;
    Some(concurrency(load.rate()?, mean_ns))
}
