//! The combined results of a specification: the combined runs of each version, and the trend of
//! throughput.

mod chapter;
pub mod facts;
mod plan;
pub(crate) mod runs;

use gatebench_model::{Specified, Variant};
use gatebench_report::Tone;
use gatebench_report::format::{counted, grouped};
use gatebench_stats::doubling::Doubling;
use gatebench_store::{Outcome, StoreError};

use crate::common::collect::Collected;
use crate::common::context::Context;
use crate::common::digest::Digest;
use crate::common::facts::{Reason, Sentence};
use crate::common::gates::is_smoke;
use crate::common::{loads, trials};
use crate::kind::{Analysed, StudyFindings, StudyKind};
use crate::marginal_cost::marginal_unit;
use facts::{CombinedFindings, ErrorLogFindings, TrendPoint, VersionFindings, VersionTrend};

/// A smaller effect of doubling the number is reported as no change.
const SMALLEST_CHANGE: f64 = 0.02;

impl StudyKind for Specified {
    /// Empty if the specification does not combine its results, or the run only tests that
    /// everything works.
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

/// A sentence on the trend of a version's throughput.
fn headline(trend: &VersionTrend) -> Sentence {
    Sentence::new(Tone::Plain, trend_words(trend), None, Some(&trend.variant))
}

fn trend_words(trend: &VersionTrend) -> String {
    let noun = trend.what.noun();
    let ends = (trend.points.first(), trend.points.last());
    let counts = match ends {
        (Some(first), Some(last)) => {
            let count = |point: &TrendPoint| grouped(f64::from(point.count));
            format!("{} to {}", count(first), count(last))
        }
        _ => String::new(),
    };
    let change = trend.line.factor - 1.0;
    let how = if change.abs() < SMALLEST_CHANGE {
        "does not change its throughput".to_owned()
    } else {
        format!("changes its throughput by {:+.0} %", change * 100.0)
    };
    format!(
        "{}: from {counts} {noun}s, each doubling {how}.",
        trend.variant
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

/// None if no trial of the version was completed.
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
        for phase in &trial.record.phases {
            let reasons = reasons(collected, trial.record.trial.number, &phase.name);
            found.push(runs::figures(&trial.record, phase, &digest, reasons));
        }
        let facts = trial.record.gateway.as_ref();
        version = version.or_else(|| facts.map(|it| it.version.clone()));
        let log = facts.and_then(|it| it.error_log.as_ref());
        error_logs.extend(log.filter(|_| specified.saves_error_log).map(|log| {
            let file = format!("trials/{}/{}", trial.name(), log.file);
            let lines = log.lines;
            ErrorLogFindings { file, lines }
        }));
    }
    let counted_up = context.scenario(scenario).and_then(marginal_unit);
    Ok((!found.is_empty()).then(|| VersionFindings {
        scenario: scenario.to_owned(),
        variant: variant.label().to_owned(),
        version,
        count: counted_up.map(|(_, _, count)| count),
        combined: runs::combine(&found),
        p90_ns: runs::over(&found, |run| run.p90_ns),
        p99_ns: runs::over(&found, |run| run.p99_ns),
        runs: found,
        error_logs,
    }))
}

/// The reasons against a phase of a trial, including those against the whole trial.
fn reasons<'a>(
    collected: &'a Collected,
    trial: u32,
    phase: &'a str,
) -> impl Iterator<Item = &'a Reason> {
    let own = collected.trials.iter().filter(move |it| it.number == trial);
    own.flat_map(|it| &it.reasons)
        .filter(move |it| it.phase.as_deref().is_none_or(|of| of == phase))
}

/// A trend for each version and each family of scenarios that vary a number.
fn trends(context: &Context, versions: &[VersionFindings]) -> Vec<VersionTrend> {
    let mut trends: Vec<VersionTrend> = Vec::new();
    for version in versions {
        let scenario = context.scenario(&version.scenario);
        let Some((family, what, count)) = scenario.and_then(marginal_unit) else {
            continue;
        };
        let Some(combined) = version.combined else {
            continue;
        };
        let point = TrendPoint {
            count,
            rate_per_second: combined.rate_mean_per_second,
        };
        let same = |it: &&mut VersionTrend| {
            it.family == family && it.what == what && it.variant == version.variant
        };
        match trends.iter_mut().find(same) {
            Some(trend) => trend.points.push(point),
            None => trends.push(VersionTrend {
                family: family.to_owned(),
                variant: version.variant.clone(),
                what,
                points: vec![point],
                line: Doubling::default(),
            }),
        }
    }
    trends.into_iter().filter_map(drawn).collect()
}

/// The trend with its line; none if there is only one number.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_trend_is_reported_by_the_doubling() {
        let point = |count, rate_per_second| TrendPoint {
            count,
            rate_per_second,
        };
        let trend = VersionTrend {
            family: "routes".into(),
            variant: "nginx".into(),
            what: crate::marginal_cost::facts::MarginalUnit::Routes,
            points: vec![point(400, 25.0), point(100, 100.0)],
            line: Doubling::default(),
        };
        let words = trend_words(&drawn(trend).unwrap());
        assert_eq!(
            words,
            "nginx: from 100 to 400 routes, each doubling changes its throughput by -50 %."
        );
    }
}
