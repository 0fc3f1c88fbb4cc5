//! The combined results of a specification, as Kong's framework combines them: the mean of the runs' rates, the mean
//! latency weighted by requests, the maximum, and two percentiles of each run. Percentiles are not averaged.

use gatebench_model::{Specified, Variant};
use gatebench_stats::Estimate;
use gatebench_stats::doubling::Doubling;
use gatebench_store::{Outcome, PhaseRecord, StoreError, StoredTrial};

use crate::collect::Collected;
use crate::context::{Context, throughput_per_second};
use crate::digest::Digest;
use crate::findings::{
    Aspect, CombinedFigures, CombinedFindings, ErrorLogFindings, RunFigures, Sentence,
    SettledFindings, Tone, TrendPoint, Validity, VersionFindings, VersionTrend,
};
use crate::gates::{is_smoke, worst};
use crate::metrics::{response_max_ns, response_mean_ns, response_percentile};
use crate::rows::load_words;
use crate::scale::scaled;
use crate::words::counted;

/// Below this a doubling changes nothing that is worth a sentence.
const SMALLEST_CHANGE: f64 = 0.02;

/// What the specification came to that the run was made from; none where it was made from none, its results are
/// not to be combined, or it was only run to see that everything works.
///
/// # Errors
/// [`StoreError`] naming the file, where histograms cannot be read.
pub(crate) fn findings(
    context: &Context,
    collected: &Collected,
) -> Result<Option<CombinedFindings>, StoreError> {
    let specification = context.plan.specification.as_ref();
    let Some(specified) = specification.filter(|it| it.combines && !is_smoke(context.plan)) else {
        return Ok(None);
    };
    let mut versions = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            let of = (scenario.scenario.as_str(), variant);
            versions.extend(version(context, collected, specified, of)?);
        }
    }
    Ok(Some(CombinedFindings {
        specification: specified.name.clone(),
        tags: specified.tags.clone(),
        load: load(context),
        trends: trends(context, &versions),
        versions,
        tried_again: tried_again(context),
    }))
}

/// How the throughput of each version goes with what is counted up, in a sentence.
pub(crate) fn headlines(found: &CombinedFindings) -> impl Iterator<Item = Sentence> + '_ {
    found.trends.iter().map(|trend| Sentence {
        text: trend_words(trend),
        tone: Tone::Plain,
        scenario: None,
        variant: Some(trend.variant.clone()),
    })
}

fn trend_words(trend: &VersionTrend) -> String {
    let noun = trend.what.noun();
    let ends = (trend.points.first(), trend.points.last());
    let counts = match ends {
        (Some(first), Some(last)) => format!("{} to {}", first.count, last.count),
        _ => String::new(),
    };
    let change = trend.line.factor - 1.0;
    let how = if change.abs() < SMALLEST_CHANGE {
        "does not change its throughput".to_owned()
    } else {
        format!("changes its throughput by {:+.0} %", change * 100.0)
    };
    format!(
        "{}: from {counts} {noun}s each doubling {how}.",
        trend.variant
    )
}

fn load(context: &Context) -> String {
    let phases = &context.plan.load.phases;
    phases.first().map_or_else(String::new, |first| {
        format!(
            "{}, {}, {} in one process",
            load_words(&first.shape),
            first.measure,
            counted(phases.len() as u64, "run")
        )
    })
}

/// None where no trial of it was completed.
fn version(
    context: &Context,
    collected: &Collected,
    specified: &Specified,
    (scenario, variant): (&str, &Variant),
) -> Result<Option<VersionFindings>, StoreError> {
    let trials = context.trials().iter().filter(|trial| {
        let of = &trial.record.trial;
        trial.record.outcome == Outcome::Completed
            && (of.scenario.as_str(), of.variant.as_str()) == (scenario, variant.label())
    });
    let (mut runs, mut error_logs, mut version) = (Vec::new(), Vec::new(), None);
    for trial in trials {
        let digest = Digest::of(trial)?;
        let phases = trial.record.phases.iter();
        runs.extend(phases.map(|phase| run(collected, trial, phase, &digest)));
        let facts = trial.record.gateway.as_ref();
        version = version.or_else(|| facts.map(|it| it.version.clone()));
        let log = facts.and_then(|it| it.error_log.as_ref());
        error_logs.extend(log.filter(|_| specified.saves_error_log).map(|log| {
            let file = format!("trials/{}/{}", trial.name(), log.file);
            let lines = log.lines;
            ErrorLogFindings { file, lines }
        }));
    }
    let found = context.scenario(scenario).and_then(scaled);
    Ok((!runs.is_empty()).then(|| VersionFindings {
        scenario: scenario.to_owned(),
        variant: variant.label().to_owned(),
        version,
        count: found.map(|(_, _, count)| count),
        combined: combine(&runs),
        p90_ns: over_runs(&runs, |run| run.p90_ns),
        p99_ns: over_runs(&runs, |run| run.p99_ns),
        runs,
        error_logs,
    }))
}

fn run(
    collected: &Collected,
    trial: &StoredTrial,
    phase: &PhaseRecord,
    digest: &Digest,
) -> RunFigures {
    let number = trial.record.trial.number;
    let counts = &phase.counts;

    RunFigures {
        trial: number,
        run: phase.name.clone(),
        rate_per_second: throughput_per_second(phase),
        answers: counts.completed,
        failed: counts.errors.values().sum::<u64>() + counts.checks_failed.values().sum::<u64>(),
        mean_ns: response_mean_ns(phase),
        max_ns: response_max_ns(phase),
        p90_ns: response_percentile(phase, digest, 90.0),
        p99_ns: response_percentile(phase, digest, 99.0),
        validity: validity(collected, number, &phase.name),
        settled: phase.settled.map(|it| SettledFindings {
            load_per_core: it.load_per_core,
            waited_ns: it.waited_ns,
            settled: it.settled,
        }),
    }
}

/// The worst of what is said against the throughput and the latency of a run.
fn validity(collected: &Collected, trial: u32, phase: &str) -> Validity {
    let reasons = collected
        .trials
        .iter()
        .filter(|it| it.number == trial)
        .flat_map(|it| &it.reasons)
        .filter(|it| it.phase.as_deref().is_none_or(|of| of == phase));
    let of = |aspect| worst(reasons.clone(), Some(aspect));
    of(Aspect::Throughput).max(of(Aspect::Latency))
}

/// A percentile of each run that has it, summed up.
fn over_runs(runs: &[RunFigures], pick: fn(&RunFigures) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<f64> = runs.iter().filter_map(pick).collect();
    Estimate::of_blocks(&values)
}

/// The valid runs together.
fn combine(runs: &[RunFigures]) -> Option<CombinedFigures> {
    let valid: Vec<&RunFigures> = runs
        .iter()
        .filter(|run| run.validity != Validity::Invalid)
        .collect();
    let rates = || valid.iter().map(|run| run.rate_per_second);
    let weighed = valid
        .iter()
        .filter_map(|run| Some((run.mean_ns?, run.answers as f64)));
    let (time_ns, answers) = weighed.fold((0.0, 0.0), |(time, all), (mean_ns, answers)| {
        (time + mean_ns * answers, all + answers)
    });
    Some(CombinedFigures {
        rate_mean_per_second: rates().sum::<f64>() / valid.len() as f64,
        rate_min_per_second: rates().reduce(f64::min)?,
        rate_max_per_second: rates().reduce(f64::max)?,
        mean_ns: (answers > 0.0).then(|| time_ns / answers),
        max_ns: valid.iter().filter_map(|run| run.max_ns).max(),
    })
}

/// A line for each version and each family of scenarios that count something up.
fn trends(context: &Context, versions: &[VersionFindings]) -> Vec<VersionTrend> {
    let mut trends: Vec<(&str, VersionTrend)> = Vec::new();
    for version in versions {
        let scenario = context.scenario(&version.scenario);
        let Some((family, what, count)) = scenario.and_then(scaled) else {
            continue;
        };
        let Some(combined) = version.combined else {
            continue;
        };
        let point = TrendPoint {
            count,
            rate_per_second: combined.rate_mean_per_second,
        };
        let same = |(of, it): &&mut (&str, VersionTrend)| {
            *of == family && it.what == what && it.variant == version.variant
        };
        match trends.iter_mut().find(same) {
            Some((_, trend)) => trend.points.push(point),
            None => trends.push((
                family,
                VersionTrend {
                    variant: version.variant.clone(),
                    what,
                    points: vec![point],
                    line: Doubling::default(),
                },
            )),
        }
    }
    trends.into_iter().filter_map(|(_, it)| drawn(it)).collect()
}

/// The trend with its line; none where there is but one count.
fn drawn(mut trend: VersionTrend) -> Option<VersionTrend> {
    trend.points.sort_by_key(|point| point.count);
    let points: Vec<(f64, f64)> = trend
        .points
        .iter()
        .map(|it| (f64::from(it.count), it.rate_per_second))
        .collect();
    trend.line = Doubling::through(&points)?;
    Some(trend)
}

fn tried_again(context: &Context) -> Vec<String> {
    let records = || context.trials().iter().map(|trial| &trial.record);
    let again = records().filter_map(|record| Some((record, record.trial.again?)));
    again
        .map(|(record, first)| {
            let of = &record.trial;
            let ended = crate::trials::outcome_words(&record.outcome);
            format!(
                "Trial {first} ({}, {}) failed and was tried again as trial {}, which is {ended}.",
                of.variant, of.scenario, of.number
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(rate_per_second: f64, answers: u64, mean_ns: f64, validity: Validity) -> RunFigures {
        RunFigures {
            trial: 1,
            run: "run-1".into(),
            rate_per_second,
            answers,
            failed: 0,
            mean_ns: Some(mean_ns),
            max_ns: Some(mean_ns as u64 * 10),
            p90_ns: None,
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
    fn a_trend_is_told_by_the_doubling() {
        let point = |count, rate_per_second| TrendPoint {
            count,
            rate_per_second,
        };
        let trend = VersionTrend {
            variant: "nginx".into(),
            what: crate::findings::Scaled::Routes,
            points: vec![point(400, 25.0), point(100, 100.0)],
            line: Doubling::default(),
        };
        let told = trend_words(&drawn(trend).unwrap());
        assert_eq!(
            told,
            "nginx: from 100 to 400 routes each doubling changes its throughput by -50 %."
        );
    }
}
