//! The report of a soak: the growth in each process.

use gatebench_report::Unit;
use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Head, Line, Lines, MARKDOWN, PAGE, PANELS, TERMINAL, Text,
};
use gatebench_report::chart::lines::{Dot, Panel, Series};
use gatebench_report::chart::{Names, Ticked, lines};
use gatebench_report::format::{
    UnitScale, capitalized, duration, grouped, quantity, three_figures,
};
use gatebench_report::palette::Palette;
use gatebench_stats::leak::LeakVerdict;

use super::facts::{SoakFindings, SoakQuantity, SoakSegment};
use super::own_series;
use crate::common::facts::Decision;
use crate::kind::StudyFacts;

const TITLE: &str = "Endurance";

/// The section of docs/METHOD.md on soaks.
const METHOD: &str = "Soak";

const EXPLANATION: &str = "Growth is judged by the lower envelope, that is, by the minima of \
     windows longer than the series' correlation time: they show the amount that remains after the \
     gateway has released some. Its slope is the Theil–Sen estimate, with a 95 % interval from a \
     moving-block bootstrap.";

impl StudyFacts for SoakFindings {
    fn key(&self) -> &'static str {
        "soak"
    }

    fn chapter(&self, palette: &Palette) -> Option<Chapter> {
        let mut blocks = Vec::from(Block::explanation(EXPLANATION, METHOD));
        let segments = self.segments.iter();
        blocks.extend(segments.map(|segment| card(self, segment, palette)));
        Some(Chapter::new("endurance", TITLE, blocks).methods(&[METHOD]))
    }

    fn decision(&self) -> Option<Decision> {
        Some(self.decision)
    }

    fn decided(&self) -> Vec<String> {
        vec![self.text.clone()]
    }
}

fn card(found: &SoakFindings, segment: &SoakSegment, palette: &Palette) -> Block {
    let class = palette.class(&found.variant);
    let chart = |(index, quantity): (usize, &SoakQuantity)| {
        let svg = envelope(&format!("soak-{}-{index}", segment.trial), quantity, &class);
        Chart::new(capitalized(&quantity.title), svg).note(&*quantity.text)
    };
    let title = segment_title(found, segment);
    let name = format!("{} in {}", found.variant, found.scenario);
    let heads = Head::row("| verdict |> per hour |> interval |> smallest detectable leak");
    let own = segment.own_series.iter().map(|figure| {
        let id = format!("soak-{}-own-{}", segment.trial, figure.name);
        let (svg, note) = own_series::chart(&id, figure);
        Chart::new(format!("Its own metrics: {}", figure.name), svg).note(note)
    });
    let lines = Lines::new(&*name, heads, segment.quantities.iter().map(line));
    let blocks = vec![
        Block::heading(format!("{TITLE} · {title}")).on(TERMINAL),
        Block::heading(name).on(PAGE),
        Block::sentence(title).on(MARKDOWN | PAGE),
        lines.into(),
        Block::charts(
            PANELS,
            segment.quantities.iter().enumerate().map(chart).chain(own),
        ),
    ];
    Block::card("", blocks)
}

fn line(found: &SoakQuantity) -> Line {
    let growth = &found.growth;
    let written = |value: Option<f64>| value.map(|it| amount(it, found.unit)).unwrap_or_default();
    let verdict = match growth.verdict {
        LeakVerdict::Leak => ["grows", "worse"],
        LeakVerdict::NoLeak => ["does not grow", "better"],
        LeakVerdict::Undetermined { .. } => ["undetermined", "open"],
    };
    let interval = growth
        .interval
        .map(|it| [it.low, it.high].map(|it| amount(it, found.unit)));
    let interval = interval.map(|it| it.join(" to ")).unwrap_or_default();
    let slope = written(growth.slope_per_hour);
    // A verdict based on the range alone has no slope.
    let per_hour = if slope.is_empty() {
        String::new()
    } else {
        format!("{slope}/h")
    };
    Line {
        name: capitalized(&found.title).into(),
        brief: vec![verdict[0].into(), per_hour.into(), interval.clone().into()],
        cells: vec![
            Text::chip(verdict[1], verdict[0]).strong_if(true).into(),
            slope.into(),
            interval.into(),
            written(growth.smallest_seen_per_hour).into(),
        ],
        ..Line::default()
    }
}

/// Draws the range of each stretch, the lower envelope, and the line through the envelope.
fn envelope(id: &str, found: &SoakQuantity, class: &str) -> String {
    let (low, high) = range(found);
    // Ticks are round numbers in the unit of their labels.
    let scale = UnitScale::of(high, found.unit);
    let size = scale.divisor;
    let up = Axis::linear((low / size, high / size));
    let last = found.stretches.last().map_or(1.0, |it| it.at_seconds);
    let (unit, divisor) = match last {
        last if last >= 7_200.0 => ("h", 3_600.0),
        last if last >= 180.0 => ("min", 60.0),
        _ => ("s", 1.0),
    };
    let across = Axis::linear((0.0, last / divisor));
    let place = |at: f64, of: f64| (at / divisor, of / size);
    let dots = found.growth.envelope.iter().map(|it| {
        let tip = UnitScale::of(it.value, found.unit).full(it.value);
        Dot {
            radius: 2.4,
            ..Dot::new(place(it.at_seconds, it.value), "envelope", tip)
        }
    });
    let ranges = found.stretches.iter().map(|it| {
        let (at, low) = place(it.at_seconds, it.low);
        (at, low, it.high / size)
    });
    let line = found.line.iter().flatten().map(|(at, of)| place(*at, *of));
    let series = Series {
        class: class.to_owned(),
        style: "curve",
        line: line.collect(),
        ranges: ranges.collect(),
        dots: dots.collect(),
        ..Series::default()
    };
    let names = Names::new(id, &*found.title, &*found.text);
    let across = Ticked::new(across, |tick| {
        format!("{} {unit}", (tick * 100.0).round() / 100.0)
    });
    let up = Ticked::new(up, |tick| scale.tick(tick * size));
    lines::Lines::new(names, class, across, Panel::new(148.0, up, vec![series])).draw()
}

/// Returns the range of the values with a margin on both sides, so that constant values also get a
/// range.
fn range(found: &SoakQuantity) -> (f64, f64) {
    let lows = found.stretches.iter().map(|it| it.low);
    let highs = found.stretches.iter().map(|it| it.high);
    let low = lows.fold(f64::INFINITY, f64::min);
    let high = highs.fold(f64::NEG_INFINITY, f64::max);
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 1.0);
    }
    // The step between ticks of counts is a whole number.
    let least = if found.unit == Unit::Count { 1.5 } else { 0.5 };
    let room = ((high - low) * 0.08).max(high.abs() * 0.002).max(least);
    ((low - room).max(0.0), high + room)
}

fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => three_figures(value),
        unit => quantity(value, unit),
    }
}

fn segment_title(found: &SoakFindings, segment: &SoakSegment) -> String {
    let number = match found.segments.len() {
        1 => String::new(),
        _ => format!("trial {}, ", segment.trial),
    };
    let mut words = format!(
        "{number}{} at {}: {} responses, {} without a response, {} failed a check, {} ended",
        duration(segment.measured_seconds),
        found.load,
        grouped(segment.responses as f64),
        grouped(segment.errors as f64),
        grouped(segment.checks_failed as f64),
        match segment.processes_ended {
            0 => "no process".to_owned(),
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        },
    );
    if let (Some(before), Some(after)) = (segment.pss_before_bytes, segment.pss_after_bytes) {
        words.push_str(&format!(
            "; memory (PSS) {} before, {} after",
            quantity(before as f64, Unit::Bytes),
            quantity(after as f64, Unit::Bytes)
        ));
    }
    capitalized(&words)
}
