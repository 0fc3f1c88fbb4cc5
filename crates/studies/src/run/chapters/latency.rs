//! Response times by percentile and by second.

use gatebench_report::axis::{Axis, nines};
use gatebench_report::chapter::{Block, Chapter, Chart, PAGE, Text};
use gatebench_report::chart::lines::{Lines, Panel, Series};
use gatebench_report::chart::{NARROW, Names, Ticked, timeline};
use gatebench_report::format::{grouped, short};
use gatebench_report::palette::{DIRECT, Palette};
use gatebench_report::{Unit, verdicts};

use crate::Findings;
use crate::common::facts::{
    CurveMetric, PercentileCurve, PhaseKind, PhaseLine, ScenarioFindings, TimelineSecond,
    TrialFindings,
};
use crate::common::joined;

const LEAD: [&str; 3] = [
    "With each step to the right, requests are ten times rarer. A curve ends at the last \
     percentile with at least ten requests beyond it. ",
    "Added",
    " is the time that each request spends between the load generator and the upstream; the gray \
     curve shows the same load sent straight to the upstream.",
];

const TIMELINE: &str = "Every trial is shown second by second: responses per second above, and the \
     p99 of the response time below. Each phase has its own axes, which all trials of the scenario \
     share.";

const SECONDS: &str = "Responses per second and, below, the 99th percentile of the response time, \
                       second by second.";

const MARKS: [(f64, &str); 6] = [
    (50.0, "p50"),
    (90.0, "p90"),
    (99.0, "p99"),
    (99.9, "p99.9"),
    (99.99, "p99.99"),
    (99.999, "p99.999"),
];

/// The chapter on percentiles, which only the page has; `None` if there are no curves.
pub fn percentiles(findings: &Findings, palette: &Palette) -> Option<Chapter> {
    let scenarios = findings.scenarios.iter().enumerate();
    let cards = scenarios.flat_map(|(index, it)| cards(&format!("s{index}"), it, palette));
    let mut blocks: Vec<Block> = cards.collect();
    (!blocks.is_empty()).then(|| {
        let lead = Text::with_strong(LEAD[0], LEAD[1], LEAD[2]);
        blocks.insert(0, Block::lead(lead, "Percentiles"));
        Chapter::new("latency", "Latency", blocks).headed("Latency by percentile")
    })
}

/// A card for each open load or, if there is none, for each load. Loads for which no gateway has a
/// curve are left out.
fn cards(anchor: &str, scenario: &ScenarioFindings, palette: &Palette) -> Vec<Block> {
    let has_open = scenario.has_open();
    let is_shown = |phase: &&PhaseLine| phase.kind == PhaseKind::Open || !has_open;
    let shown = scenario.phases.iter().filter(is_shown).enumerate();
    let card = |(index, phase): (usize, &PhaseLine)| {
        let panels = panels(&format!("{anchor}-p{index}"), scenario, phase, palette);
        let note = match phase.kind {
            PhaseKind::Closed => " · latency at saturation, which follows from the throughput",
            _ => "",
        };
        let blocks = vec![
            Block::heading(&*scenario.name),
            Block::sentence(format!("{}{note}", phase.label)),
            Block::charts("panels", panels),
        ];
        Block::card("", blocks)
    };
    let has_curves = |phase: &PhaseLine| {
        let mut rows = scenario.rows.iter().filter(|row| row.variant != DIRECT);
        rows.any(|row| main_curve(scenario, &phase.name, &row.variant).is_some())
    };
    shown
        .filter(|(_, phase)| has_curves(phase))
        .map(card)
        .collect()
}

/// Returns `None` if the curve has no points.
fn curve<'a>(
    scenario: &'a ScenarioFindings,
    phase: &str,
    variant: &str,
    metric: CurveMetric,
) -> Option<&'a PercentileCurve> {
    scenario.curves.iter().find(|it| {
        it.phase == phase && it.variant == variant && it.metric == metric && !it.points.is_empty()
    })
}

fn main_curve<'a>(
    scenario: &'a ScenarioFindings,
    phase: &str,
    variant: &str,
) -> Option<&'a PercentileCurve> {
    let of = |metric| curve(scenario, phase, variant, metric);
    of(CurveMetric::Response).or_else(|| of(CurveMetric::Added))
}

/// The points that may be shown, up to the last trustworthy percentile.
fn drawn(curve: &PercentileCurve) -> impl Iterator<Item = (f64, f64)> {
    let points = curve.points.iter();
    points
        .filter(|it| it.percentile <= curve.trusted_percentile && it.percentile < 100.0)
        .map(|it| (it.percentile, it.latency_ns as f64))
}

/// A chart for each gateway, with the direct variant behind it, all on the same axes.
fn panels(
    prefix: &str,
    scenario: &ScenarioFindings,
    phase: &PhaseLine,
    palette: &Palette,
) -> Vec<Chart> {
    let is_drawn = |it: &&PercentileCurve| {
        it.phase == phase.name && matches!(it.metric, CurveMetric::Response | CurveMetric::Added)
    };
    let points = || scenario.curves.iter().filter(is_drawn).flat_map(drawn);
    let last = points().map(|(at, _)| at).fold(99.0, f64::max);
    let chart = |(index, variant): (usize, &str)| {
        let main = main_curve(scenario, &phase.name, variant)?;
        let curves = [
            (
                DIRECT,
                CurveMetric::Added,
                "direct added",
                "curve thin dashed",
            ),
            (DIRECT, CurveMetric::Response, "direct", "curve thin"),
            (variant, CurveMetric::Added, "added", "curve dashed"),
            (variant, CurveMetric::Response, "response", "curve"),
        ];
        let curves = curves.into_iter().filter_map(|(of, metric, label, style)| {
            let found = curve(scenario, &phase.name, of, metric)?;
            Some((label, style, found))
        });
        let curves: Vec<(&str, &'static str, &PercentileCurve)> = curves.collect();
        let words = curves.iter().map(|(label, _, it)| described(label, it));
        let series = curves.iter().map(|(label, style, found)| Series {
            class: palette.class(&found.variant),
            label: (*label).to_owned(),
            style,
            line: drawn(found).map(|(at, ns)| (position(at), ns)).collect(),
            ..Series::default()
        });
        let marks = MARKS.iter().filter(|(at, _)| *at <= last + 1e-9);
        let marks = marks.map(|(at, name)| (position(*at), (*name).to_owned()));
        let class = palette.class(variant);
        let across = Ticked::with(Axis::linear((0.0, position(last))), marks.collect());
        let up = Ticked::times(points().map(|(_, ns)| ns));
        let names = Names::new(
            format!("{prefix}-{index}"),
            format!("Percentiles of {variant}"),
            joined(words, " "),
        );
        let panel = Panel::new(202.0, up, series.collect());
        let chart = Lines {
            width: NARROW,
            ..Lines::new(names, &class, across, panel)
        };
        let svg = chart.draw();
        let requests = format!("{} requests", grouped(main.samples as f64));
        Some(Chart::new(variant, svg).colored(class).aside(requests))
    };
    let gateways = scenario.rows.iter().map(|row| &*row.variant);
    let gateways = gateways.filter(|it| *it != DIRECT).enumerate();
    gateways.filter_map(chart).collect()
}

fn position(percentile: f64) -> f64 {
    nines(percentile / 100.0)
}

fn described(label: &str, found: &PercentileCurve) -> String {
    let marks = MARKS.iter().filter_map(|(percentile, name)| {
        let (_, ns) = drawn(found).find(|(at, _)| (at - percentile).abs() < 1e-6)?;
        Some(format!("{name} {}", short(ns, Unit::Nanoseconds)))
    });
    format!("{label}: {}.", joined(marks, ", "))
}

/// The timeline of each trial, which only the page has.
pub fn timeline(findings: &Findings, palette: &Palette) -> Chapter {
    let scenarios = findings.scenarios.iter().enumerate();
    let cards = scenarios.filter_map(|(index, scenario)| {
        let mut blocks = vec![Block::heading(&*scenario.name)];
        blocks.extend(rows(index, scenario, &findings.trials, palette)?);
        Some(Block::card("", blocks))
    });
    let lead = Block::lead(TIMELINE, "Validity").on(PAGE);
    let blocks = std::iter::once(lead).chain(cards).collect();
    Chapter::new("timeline", "Timeline", blocks)
}

/// A row of trials for each variant; `None` if no second was recorded.
fn rows(
    index: usize,
    scenario: &ScenarioFindings,
    trials: &[TrialFindings],
    palette: &Palette,
) -> Option<Vec<Block>> {
    let own = trials.iter();
    let own = own.filter(|it| it.scenario == scenario.name && !it.timeline.is_empty());
    let mut own: Vec<&TrialFindings> = own.collect();
    own.sort_by_key(|trial| (trial.block, trial.number));
    let phases: Vec<Vec<timeline::Phase<'_>>> = own.iter().map(|it| seconds(it)).collect();
    let axes = timeline::Axes::over(&phases)?;
    let row = |variant: &str| {
        let class = palette.class(variant);
        let charts = own.iter().zip(&phases);
        let charts = charts.filter(|(trial, _)| trial.variant == variant);
        let charts = charts.map(|(trial, phases)| {
            let TrialFindings { block, number, .. } = trial;
            let words = format!("block {block} · trial {number}");
            let names = Names::new(
                format!("s{index}-t{number}"),
                format!("Trial {number}, {variant}, block {block}"),
                SECONDS,
            );
            let svg = timeline::draw(&names, phases, &axes, &class);
            Chart::new("", svg).aside(verdicts::with_validity(&words, trial.validity))
        });
        let charts: Vec<Chart> = charts.collect();
        let charts = Block::charts("panels small", charts);
        let blocks = vec![Block::colored_heading(variant), charts];
        Block::row(format!("{class} trialrow"), blocks)
    };
    let has_trials = |variant: &&str| own.iter().any(|trial| trial.variant == *variant);
    let variants = scenario.rows.iter().map(|row| &*row.variant);
    Some(variants.filter(has_trials).map(row).collect())
}

fn seconds(trial: &TrialFindings) -> Vec<timeline::Phase<'_>> {
    let second = |it: &TimelineSecond| timeline::Second {
        second: it.second,
        completed: it.completed,
        p99_ns: it.response_p99_ns,
    };
    let phases = trial.timeline.iter().map(|it| timeline::Phase {
        name: &it.phase,
        seconds: it.seconds.iter().map(second).collect(),
    });
    phases.collect()
}
