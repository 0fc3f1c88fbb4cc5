//! The comparisons of each scenario: a table with a plot in every row.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    ComparisonFindings, DuelFindings, Interval, ScenarioFindings, Validity,
};
use gatebench_analysis::words::{capitalised, metric_title, ratio_and_interval};
use serde::Serialize;

use crate::palette::Palette;
use crate::plots::forest::{Forest, Point};
use crate::verdicts;

/// The comparisons of a scenario.
#[derive(Serialize)]
pub struct ForestView {
    scenario: String,
    /// The smallest effect that matters, as `2 %`.
    effect: String,
    metrics: Vec<MetricView>,
    ticks: String,
    has_limits: bool,
    /// Whether the baseline was measured beside itself.
    has_noise: bool,
}

#[derive(Serialize)]
struct MetricView {
    title: String,
    /// The load.
    under: String,
    primary: bool,
    rows: Vec<RowView>,
}

#[derive(Serialize)]
struct RowView {
    class: String,
    candidate: String,
    baseline: String,
    svg: String,
    ratio: String,
    interval: String,
    /// Of the interval, as `99.2 %`; empty without one.
    confidence: String,
    blocks: String,
    verdict: &'static str,
    verdict_class: &'static str,
    text: String,
}

/// The comparisons of every scenario that has some.
pub fn forests(findings: &Findings, palette: &Palette) -> Vec<ForestView> {
    let scenarios = findings.scenarios.iter().enumerate();
    scenarios
        .filter_map(|(index, scenario)| {
            let anchor = format!("v{index}");
            forest(&anchor, scenario, findings.duel.as_ref(), palette)
        })
        .collect()
}

fn forest(
    anchor: &str,
    scenario: &ScenarioFindings,
    duel: Option<&DuelFindings>,
    palette: &Palette,
) -> Option<ForestView> {
    let plot = Forest::of(scenario)?;
    let comparisons = &scenario.comparisons;
    let mut number = 0;
    let mut row = |found: &ComparisonFindings| {
        number += 1;
        let noise = noise(duel, comparisons, found);
        row_view(
            &format!("{anchor}-{number}"),
            (found, noise),
            &plot,
            palette,
        )
    };
    let metrics = comparisons
        .chunk_by(|a, b| (a.metric, &a.phase) == (b.metric, &b.phase))
        .map(|cells| MetricView {
            title: capitalised(metric_title(cells[0].metric)),
            under: verdicts::load(scenario, &cells[0]).into(),
            primary: cells[0].primary,
            rows: cells.iter().map(&mut row).collect(),
        })
        .collect();
    let effect = comparisons.first()?.smallest_effect;
    Some(ForestView {
        scenario: scenario.name.clone(),
        effect: format!("{} %", effect * 100.0),
        metrics,
        ticks: plot.ticks(&format!("{anchor}-ticks")),
        has_noise: comparisons.iter().any(|found| is_noise(duel, found)),
        has_limits: comparisons
            .iter()
            .any(|found| found.validity == Validity::Limited),
    })
}

/// Whether it is a baseline beside its other self, which tells the noise of the machine.
fn is_noise(duel: Option<&DuelFindings>, found: &ComparisonFindings) -> bool {
    duel.is_some_and(|duel| found.candidate == duel.baseline && found.baseline == duel.again)
}

/// What the baseline of a comparison differs by from its other self, where it was measured twice.
fn noise(
    duel: Option<&DuelFindings>,
    all: &[ComparisonFindings],
    found: &ComparisonFindings,
) -> Option<Interval> {
    let of_same = |it: &&ComparisonFindings| it.metric == found.metric && it.phase == found.phase;
    let twice = all.iter().filter(of_same).find(|it| is_noise(duel, it))?;
    (!is_noise(duel, found)).then_some(twice.result.interval)?
}

fn row_view(
    id: &str,
    (found, noise): (&ComparisonFindings, Option<Interval>),
    plot: &Forest,
    palette: &Palette,
) -> RowView {
    let class = palette.class(&found.candidate);
    let (ratio, interval) = ratio_and_interval(&found.result);
    let point = Point {
        title: &format!("{} ÷ {}", found.candidate, found.baseline),
        text: &found.text,
        result: &found.result,
        noise,
    };
    let confidence = found.result.interval.map(|interval| interval.confidence);
    RowView {
        candidate: found.candidate.clone(),
        baseline: found.baseline.clone(),
        svg: plot.point(id, &point, &class),
        ratio,
        interval,
        confidence: confidence
            .map(|share| format!("{:.1} %", share * 100.0))
            .unwrap_or_default(),
        blocks: verdicts::blocks(found),
        verdict: verdicts::word(found.result.verdict),
        verdict_class: verdicts::class(found.result.verdict),
        text: found.text.clone(),
        class,
    }
}
