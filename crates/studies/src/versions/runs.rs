//! Combines the runs of a version as Kong's framework does: the mean of their rates, the mean
//! latency weighted by requests, and the maximum. Percentiles are not averaged.
//!
//! A run whose throughput or latency is invalid is excluded from all combined figures, and named.

use gatebench_report::Validity;
use gatebench_stats::Estimate;
use gatebench_store::{PhaseRecord, TrialRecord};

use super::facts::{CombinedFigures, RunFigures, SettledFindings};
use crate::common::context::throughput_per_second;
use crate::common::digest::Digest;
use crate::common::facts::{Aspect, Reason};
use crate::common::gates::worst;
use crate::common::metrics::{response_max_ns, response_mean_ns, response_percentile};

/// The figures of one run: a phase of a trial, with the reasons against it.
pub(crate) fn figures<'a>(
    trial: &TrialRecord,
    phase: &PhaseRecord,
    digest: &Digest,
    reasons: impl Iterator<Item = &'a Reason>,
) -> RunFigures {
    let reasons: Vec<&Reason> = reasons.collect();
    let of = |aspect| worst(reasons.iter().copied(), Some(aspect));
    let counts = &phase.counts;
    RunFigures {
        trial: trial.trial.number,
        run: phase.name.clone(),
        rate_per_second: throughput_per_second(phase),
        responses: counts.completed,
        failed: counts.errors.values().sum::<u64>() + counts.responses_failing_checks(),
        mean_ns: response_mean_ns(phase),
        max_ns: response_max_ns(phase),
        p90_ns: response_percentile(phase, digest, 90.0),
        p99_ns: response_percentile(phase, digest, 99.0),
        validity: of(Aspect::Throughput).max(of(Aspect::Latency)),
        settled: phase.settled.map(|it| SettledFindings {
            load_per_core: it.load_per_core,
            waited_ns: it.waited_ns,
            settled: it.settled,
        }),
    }
}

/// The runs that are combined.
fn valid(runs: &[RunFigures]) -> impl Iterator<Item = &RunFigures> + Clone {
    runs.iter().filter(|run| run.validity != Validity::Invalid)
}

/// The median of a figure over the valid runs that have it, with the smallest and the largest
/// value.
pub(crate) fn over(
    runs: &[RunFigures],
    pick: impl Fn(&RunFigures) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> = valid(runs).filter_map(pick).collect();
    Estimate::of_blocks(&values)
}

/// The combined figures of the valid runs; none if no run is valid.
pub(crate) fn combine(runs: &[RunFigures]) -> Option<CombinedFigures> {
    let runs = valid(runs);
    let rates = || runs.clone().map(|run| run.rate_per_second);
    let means = runs.clone();
    let weighed = means.filter_map(|run| Some((run.mean_ns?, run.responses as f64)));
    let (time_ns, responses) = weighed.fold((0.0, 0.0), |(time, all), (mean_ns, responses)| {
        (time + mean_ns * responses, all + responses)
    });
    Some(CombinedFigures {
        rate_mean_per_second: rates().sum::<f64>() / rates().count() as f64,
        rate_min_per_second: rates().reduce(f64::min)?,
        rate_max_per_second: rates().reduce(f64::max)?,
        mean_ns: (responses > 0.0).then(|| time_ns / responses),
        max_ns: runs.clone().filter_map(|run| run.max_ns).max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rate_per_second: f64, responses: u64, mean_ns: f64, validity: Validity) -> RunFigures {
        RunFigures {
            trial: 1,
            run: "run-1".into(),
            rate_per_second,
            responses,
            failed: 0,
            mean_ns: Some(mean_ns),
            max_ns: Some(mean_ns as u64 * 10),
            p90_ns: Some(mean_ns * 2.0),
            p99_ns: None,
            validity,
            settled: None,
        }
    }

    #[test]
    fn rates_are_averaged_and_latencies_weighted_by_requests() {
        let runs = [
            run(100.0, 1_000, 4e6, Validity::Valid),
            run(300.0, 3_000, 8e6, Validity::Limited),
            run(9e9, 1, 1.0, Validity::Invalid),
        ];
        let found = combine(&runs).unwrap();
        assert_eq!(found.rate_mean_per_second, 200.0);
        assert_eq!(
            (found.rate_min_per_second, found.rate_max_per_second),
            (100.0, 300.0)
        );
        assert_eq!(found.mean_ns, Some(7e6), "(4·1000 + 8·3000) / 4000");
        assert_eq!(found.max_ns, Some(80_000_000));
        assert_eq!(combine(&runs[2..]), None);
    }

    #[test]
    fn percentiles_exclude_invalid_runs() {
        let runs = [
            run(100.0, 1_000, 4e6, Validity::Valid),
            run(9e9, 1, 1.0, Validity::Invalid),
        ];
        let p90 = over(&runs, |run| run.p90_ns).unwrap();
        assert_eq!((p90.min, p90.max, p90.blocks), (8e6, 8e6, 1));
        assert_eq!(over(&runs, |run| run.p99_ns), None);
    }
}
