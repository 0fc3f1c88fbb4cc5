//! The checks, thresholds, groups and metrics that an external load generator reports, merged over
//! the trials.

use std::collections::BTreeMap;

use gatebench_report::Tone;
use gatebench_report::format::{counted, listed};
use gatebench_stats::Estimate;
use gatebench_store::ExternalFigures;

use super::Names;
use super::context::Context;
use super::facts::{
    ExternalCheckResult, ExternalMetricResult, ExternalResults, ExternalThresholdResult,
};

/// The results of a scenario by phase and variant, in the plan's order; empty if the load generator
/// reports no additional results.
pub(crate) fn of_scenario(context: &Context, names: &Names) -> Vec<ExternalResults> {
    let results = names.cells().filter_map(|(phase, variant)| {
        let records = context.completed_of(names.scenario, variant);
        let phases = records.flat_map(|record| &record.phases);
        let own = phases.filter(|known| known.name == phase);
        let figures: Vec<_> = own.filter_map(|known| known.external.as_ref()).collect();
        summed_up(phase, variant, &figures)
    });
    results.collect()
}

fn summed_up(phase: &str, variant: &str, results: &[&ExternalFigures]) -> Option<ExternalResults> {
    let first = results.first()?;
    let found = ExternalResults {
        phase: phase.into(),
        variant: variant.into(),
        engine: first.engine.clone(),
        trials: u32::try_from(results.len()).unwrap_or(u32::MAX),
        checks: checks(results),
        thresholds: thresholds(results),
        groups: first.groups.clone(),
        metrics: metrics(results),
    };
    let silent = found.checks.is_empty()
        && found.thresholds.is_empty()
        && found.groups.is_empty()
        && found.metrics.is_empty();
    (!silent).then_some(found)
}

/// Sentences about the thresholds of a user's script, with the variant that each concerns. Each
/// crossed threshold has a separate sentence.
pub(crate) fn thresholds_in_words(results: &[ExternalResults]) -> Vec<(Tone, String, &str)> {
    let mut said = Vec::new();
    for found in results {
        let (variant, engine) = (found.variant.as_str(), &found.engine);
        let at = format!("with {variant} in {}", found.phase);
        let (crossed, held): (Vec<_>, Vec<_>) =
            found.thresholds.iter().partition(|it| it.crossed > 0);
        said.extend(crossed.into_iter().map(|it| {
            let trials = counted(u64::from(it.held + it.crossed), "trial");
            let text = format!(
                "{engine}'s threshold `{}` was crossed {at}, in {} of {trials}.",
                it.name, it.crossed
            );
            (Tone::Alarm, text, variant)
        }));
        if !held.is_empty() {
            let names: Vec<String> = held.iter().map(|it| format!("`{}`", it.name)).collect();
            let text = format!("{engine}'s thresholds passed {at}: {}.", listed(&names));
            said.push((Tone::Plain, text, variant));
        }
    }
    said
}

fn checks(results: &[&ExternalFigures]) -> Vec<ExternalCheckResult> {
    let mut sums: BTreeMap<&str, (Option<u64>, u64)> = BTreeMap::new();
    for (name, check) in results.iter().flat_map(|results| &results.checks) {
        let (passed, failed) = sums.entry(name).or_default();
        *failed += check.failed;
        *passed = match (*passed, check.passed) {
            (Some(sum), Some(more)) => Some(sum + more),
            (sum, more) => sum.or(more),
        };
    }
    let check = |(name, (passed, failed)): (&str, _)| ExternalCheckResult {
        name: name.into(),
        passed,
        failed,
    };
    sums.into_iter().map(check).collect()
}

fn thresholds(results: &[&ExternalFigures]) -> Vec<ExternalThresholdResult> {
    let mut sums: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (name, holds) in results.iter().flat_map(|results| &results.thresholds) {
        let (held, crossed) = sums.entry(name).or_default();
        *if *holds { held } else { crossed } += 1;
    }
    let threshold = |(name, (held, crossed)): (&str, _)| ExternalThresholdResult {
        name: name.into(),
        held,
        crossed,
    };
    sums.into_iter().map(threshold).collect()
}

fn metrics(results: &[&ExternalFigures]) -> Vec<ExternalMetricResult> {
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for (name, statistics) in results.iter().flat_map(|results| &results.metrics) {
        for (statistic, value) in statistics {
            values.entry((name, statistic)).or_default().push(*value);
        }
    }
    let metric = |((name, statistic), values): ((&str, &str), Vec<f64>)| {
        Some(ExternalMetricResult {
            name: name.into(),
            statistic: statistic.into(),
            estimate: Estimate::of_blocks(&values)?,
        })
    };
    values.into_iter().filter_map(metric).collect()
}
