//! The combined results of a specification: the combined runs of each version, and the trend of
//! throughput.
//!
//! Runs are combined as in Kong's framework: the results are the mean of their rates, the mean of
//! their mean latencies (weighted by responses), and their longest latency. Percentiles are not
//! averaged. A run whose throughput or latency is invalid is listed as invalid and excluded from
//! all combined figures.

mod chapter;
pub mod facts;

use gatebench_model::{LoadProfile, Plan, Specification, Specified, Study, Variant};
use gatebench_report::format::{counted, grouped};
use gatebench_report::{Tone, Validity};
use gatebench_stats::Estimate;
use gatebench_stats::doubling::Doubling;
use gatebench_store::{ErrorLog, Outcome, PhaseRecord, StoreError, TrialRecord};

use crate::choice::{Given, StudyChoice};
use crate::common::collect::{Collected, concerning};
use crate::common::context::{Context, throughput_per_second};
use crate::common::digest::Digest;
use crate::common::facts::{Aspect, Reason, Sentence};
use crate::common::gates::{is_smoke, worst};
use crate::common::metrics::{response_max_ns, response_mean_ns, response_percentile};
use crate::common::{by_key, loads, trials};
use crate::kind::{Analysed, StudyFindings, StudyKind};
use crate::marginal_cost::facts::MarginalUnit;
use crate::marginal_cost::marginal_unit;
use facts::{
    CombinedFigures, CombinedFindings, RunFigures, SettledFindings, TrendPoint, VersionFindings,
    VersionTrend,
};

/// If doubling the number has a smaller effect than this, only this bound is reported.
const SMALLEST_CHANGE: f64 = 0.02;

impl StudyChoice for Specification {
    fn load(&self) -> Option<LoadProfile> {
        Some(self.load_profile())
    }

    fn plan(&self, plan: &mut Plan, _given: Given<'_>) {
        plan.study = Study::Versions(self.specified());
    }
}

impl StudyKind for Specified {
    /// Returns empty findings if the specification does not combine its results, or if the run only
    /// tests that everything works.
    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let context = of.context;
        if !self.combines || is_smoke(context.plan) {
            return Ok(StudyFindings::default());
        }
        let mut versions = Vec::new();
        for (scenario, variant) in context.cells() {
            let scenario = &scenario.scenario;
            versions.extend(version(context, of.collected, self, scenario, variant)?);
        }
        let found = CombinedFindings {
            specification: self.name.clone(),
            tags: self.tags.clone(),
            load: load(context),
            trends: trends(context, &versions),
            versions,
            tried_again: trials::tried_again(context),
        };
        let headlines: Vec<Sentence> = found.trends.iter().map(headline).collect();
        Ok(StudyFindings::new(found, headlines))
    }
}

fn headline(trend: &VersionTrend) -> Sentence {
    Sentence::new(Tone::Plain, trend_words(trend), None, Some(&trend.variant))
}

fn trend_words(trend: &VersionTrend) -> String {
    let noun = trend.what.noun();
    // A trend has at least two points, so the default is never used.
    let count = |point: Option<&TrendPoint>| grouped(point.map_or(0.0, |it| it.count.into()));
    let (first, last) = (count(trend.points.first()), count(trend.points.last()));
    let change = trend.line.factor - 1.0;
    let how = match change.abs() < SMALLEST_CHANGE {
        true => format!("less than {:.0} %", SMALLEST_CHANGE * 100.0),
        false => format!("{:+.0} %", change * 100.0),
    };
    let variant = &trend.variant;
    format!(
        "{variant}: from {first} to {last} {noun}s, throughput changes by {how} with each doubling."
    )
}

fn load(context: &Context) -> String {
    let phases = &context.plan.load.phases;
    phases.first().map_or_else(String::new, |first| {
        format!(
            "{}, {}, {} in one process",
            loads::in_words(&first.shape),
            first.measure,
            counted(phases.len() as u64, "run")
        )
    })
}

/// Returns the figures of a version in a scenario; `None` if no trial was completed.
fn version(
    context: &Context,
    collected: &Collected,
    specified: &Specified,
    scenario: &str,
    variant: &Variant,
) -> Result<Option<VersionFindings>, StoreError> {
    let trials = context.trials_of(scenario, variant.label());
    let trials = trials.filter(|trial| trial.record.outcome == Outcome::Completed);
    let (mut found, mut error_logs, mut version) = (Vec::new(), Vec::new(), None);
    for trial in trials {
        let digest = Digest::of(trial)?;
        let reasons = collected.reasons_of(trial.record.trial.number);
        for phase in &trial.record.phases {
            let reasons = concerning(reasons, &phase.name);
            found.push(figures(&trial.record, phase, &digest, reasons));
        }
        let facts = trial.record.gateway.as_ref();
        version = version.or_else(|| facts.map(|it| it.version.clone()));
        let log = facts.and_then(|it| it.error_log.as_ref());
        error_logs.extend(
            log.filter(|_| specified.saves_error_log)
                .map(|log| ErrorLog {
                    file: format!("trials/{}/{}", trial.name(), log.file),
                    lines: log.lines,
                }),
        );
    }
    let counted_up = context.plan.scenario(scenario).and_then(marginal_unit);
    Ok((!found.is_empty()).then(|| VersionFindings {
        scenario: scenario.to_owned(),
        variant: variant.label().to_owned(),
        version,
        count: counted_up.map(|(_, _, count)| count),
        combined: combine(&found),
        p90_ns: over(&found, |run| run.p90_ns),
        p99_ns: over(&found, |run| run.p99_ns),
        runs: found,
        error_logs,
    }))
}

fn figures<'a>(
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

fn valid(runs: &[RunFigures]) -> impl Iterator<Item = &RunFigures> + Clone {
    runs.iter().filter(|run| run.validity != Validity::Invalid)
}

fn over(runs: &[RunFigures], pick: impl Fn(&RunFigures) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<f64> = valid(runs).filter_map(pick).collect();
    Estimate::of_blocks(&values)
}

fn combine(runs: &[RunFigures]) -> Option<CombinedFigures> {
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

/// A trend for each version and each family of scenarios that differ in a number.
fn trends(context: &Context, versions: &[VersionFindings]) -> Vec<VersionTrend> {
    let points = versions.iter().filter_map(|version| {
        let scenario = context.plan.scenario(&version.scenario)?;
        let (family, what, count) = marginal_unit(scenario)?;
        let point = TrendPoint {
            count,
            rate_per_second: version.combined?.rate_mean_per_second,
        };
        Some(((family, what, &*version.variant), point))
    });
    let trends = by_key(points).into_iter();
    trends
        .filter_map(|((family, what, variant), points)| trend(family, what, variant, points))
        .collect()
}

/// Returns `None` if there are fewer than two different numbers, or if a rate is 0.
fn trend(
    family: &str,
    what: MarginalUnit,
    variant: &str,
    mut points: Vec<TrendPoint>,
) -> Option<VersionTrend> {
    points.sort_by_key(|point| point.count);
    let places = points
        .iter()
        .map(|it| (f64::from(it.count), it.rate_per_second));
    Some(VersionTrend {
        line: Doubling::through(&places.collect::<Vec<_>>())?,
        family: family.to_owned(),
        variant: variant.to_owned(),
        what,
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_reported_per_doubling() {
        let point = |count, rate_per_second| TrendPoint {
            count,
            rate_per_second,
        };
        let points = vec![point(400, 25.0), point(100, 100.0)];
        let trend = trend("routes", MarginalUnit::Routes, "nginx", points).unwrap();
        assert_eq!(
            trend_words(&trend),
            "nginx: from 100 to 400 routes, throughput changes by -50 % with each doubling."
        );
    }

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
