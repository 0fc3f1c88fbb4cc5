//! Figures of an external load generator besides latencies and counts: the checks, thresholds,
//! groups and metrics of a script.

use gatebench_analysis::findings::{Estimate, ScenarioFindings, ToldFindings, ToldThreshold};
use gatebench_analysis::words::{grouped, three_figures};
use serde::Serialize;

use crate::palette::Palette;

/// What was told of a variant in a phase.
#[derive(Serialize)]
pub struct ToldView {
    class: String,
    variant: String,
    /// Engine, phase and trials.
    under: String,
    /// Whether something of it is not as it should be, so that it is seen without a click.
    open: bool,
    groups: String,
    thresholds: Vec<ThresholdView>,
    checks: Vec<CheckView>,
    metrics: Vec<MetricView>,
}

#[derive(Serialize)]
struct ThresholdView {
    name: String,
    class: &'static str,
    text: String,
}

#[derive(Serialize)]
struct CheckView {
    name: String,
    class: &'static str,
    passed: String,
    failed: String,
}

#[derive(Serialize)]
struct MetricView {
    name: String,
    /// Statistic, median and range.
    statistics: Vec<[String; 3]>,
}

/// Everything that was told of a scenario.
pub fn told(scenario: &ScenarioFindings, palette: &Palette) -> Vec<ToldView> {
    let views = scenario.told.iter();
    views.map(|told| view(told, palette)).collect()
}

fn view(told: &ToldFindings, palette: &Palette) -> ToldView {
    let noun = if told.trials == 1 { "trial" } else { "trials" };
    let crossed = told.thresholds.iter().any(|it| it.crossed > 0);
    let failed = told.checks.iter().any(|check| check.failed > 0);
    ToldView {
        class: palette.class(&told.variant),
        variant: told.variant.clone(),
        under: format!("{} · {} · {} {noun}", told.engine, told.phase, told.trials),
        open: crossed || failed,
        groups: told.groups.join(", "),
        thresholds: told.thresholds.iter().map(threshold).collect(),
        checks: told
            .checks
            .iter()
            .map(|check| CheckView {
                name: check.name.clone(),
                class: if check.failed > 0 { "failed" } else { "passed" },
                passed: check
                    .passed
                    .map_or_else(|| "–".into(), |passed| grouped(passed as f64)),
                failed: grouped(check.failed as f64),
            })
            .collect(),
        metrics: metrics(told),
    }
}

fn threshold(threshold: &ToldThreshold) -> ThresholdView {
    let (held, crossed) = (threshold.held, threshold.crossed);
    let (class, text) = match (held, crossed) {
        (_, 0) => ("passed", "held".into()),
        (0, _) => ("failed", "crossed".into()),
        _ => (
            "failed",
            format!("crossed in {crossed} of {} trials", held + crossed),
        ),
    };
    ThresholdView {
        name: threshold.name.clone(),
        class,
        text,
    }
}

fn metrics(told: &ToldFindings) -> Vec<MetricView> {
    let by_name = told.metrics.chunk_by(|a, b| a.name == b.name);
    by_name
        .map(|metrics| MetricView {
            name: metrics[0].name.clone(),
            statistics: metrics
                .iter()
                .map(|metric| {
                    let median = number(metric.estimate.median);
                    [metric.statistic.clone(), median, range(&metric.estimate)]
                })
                .collect(),
        })
        .collect()
}

fn range(estimate: &Estimate) -> String {
    if estimate.blocks > 1 && estimate.min < estimate.max {
        format!("{}–{}", number(estimate.min), number(estimate.max))
    } else {
        String::new()
    }
}

/// A count without decimals, everything else with three figures: the unit is the script's own.
fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        grouped(value)
    } else {
        three_figures(value)
    }
}
