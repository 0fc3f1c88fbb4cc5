//! What policies add to the plain proxy of a gateway: bars that begin where the plain one ends.

use gatebench_analysis::findings::{CostFigure, CostLine, CostMeasure, CostRole, GatewayCosts};
use gatebench_analysis::words::signed;

use crate::axis::Axis;
use crate::number::Scale;
use crate::svg::{Anchor, Svg};
use crate::text;

const WIDTH: f64 = 520.0;
const LEFT: f64 = 172.0;
const RIGHT: f64 = 64.0;
const ROW: f64 = 21.0;
const BAR: f64 = 11.0;
/// Room above what begins a group.
const GAP: f64 = 9.0;
const AXIS: f64 = 24.0;
const LABEL_COLUMNS: usize = 26;

/// The largest value that the bars of a gateway reach; none where nothing was measured.
pub fn reach(gateway: &GatewayCosts, measure: usize) -> Option<f64> {
    let bars = bars(gateway, measure);
    bars.iter()
        .map(|bar| bar.to.max(bar.ends.1))
        .reduce(f64::max)
}

/// Draws a gateway on an axis up to `reach`; none where nothing was measured.
pub fn plot(
    id: &str,
    gateway: &GatewayCosts,
    (index, measure): (usize, &CostMeasure),
    reach: f64,
    class: &str,
) -> Option<String> {
    let bars = bars(gateway, index);
    let height = bars.last().map(|bar| bar.top + ROW)?;
    let axis = Axis::from_zero(reach, (LEFT, WIDTH - RIGHT));
    let scale = Scale::of_all(bars.iter().map(|bar| bar.to), measure.unit);
    let told: Vec<String> = bars.iter().map(|bar| bar.told(scale)).collect();
    let mut svg = Svg::new(
        id,
        (WIDTH, height + AXIS),
        &gateway.variant,
        &told.join(" "),
    );
    let ticks = Scale::of(axis.domain().1, measure.unit);
    for (number, tick) in axis.ticks().into_iter().enumerate() {
        let x = axis.at(tick);
        let line = if number == 0 { "base" } else { "grid" };
        svg.line(line, (x, 0.0), (x, height));
        svg.text("", (x, height + 16.0), Anchor::Middle, &ticks.tick(tick));
    }
    svg.begin_group(class);
    guides(&mut svg, &bars, axis);
    for (bar, told) in bars.iter().zip(&told) {
        bar.draw(&mut svg, axis, scale, told);
    }
    svg.end_group();
    Some(svg.finish())
}

/// A scenario as a bar.
struct Bar<'a> {
    line: &'a CostLine,
    figure: &'a CostFigure,
    /// Where it begins: zero, or where the plain proxy ends.
    from: f64,
    to: f64,
    /// The ends of its interval or range.
    ends: (f64, f64),
    /// Pixels from the top of the drawing to that of its row.
    top: f64,
}

fn bars(gateway: &GatewayCosts, measure: usize) -> Vec<Bar<'_>> {
    let mut bars: Vec<Bar<'_>> = Vec::new();
    let (mut plain, mut top) = (None, 0.0);
    for line in &gateway.lines {
        let figure = &line.figures[measure];
        let total = figure.total.as_ref();
        if line.role == CostRole::Plain {
            plain = total.map(|total| total.median);
        }
        let span = match (&line.role, &figure.cost, plain, total) {
            (CostRole::Policy { .. }, Some(cost), Some(plain), _) => {
                let (low, high) = cost.difference.span();
                let to = plain + cost.difference.effect;
                (plain, to, (plain + low, plain + high))
            }
            (CostRole::Policy { .. }, ..) | (_, _, _, None) => continue,
            (.., Some(total)) => (0.0, total.median, (total.min, total.max)),
        };
        let follows = bars.last().is_some_and(|bar: &Bar<'_>| bar.is_policy());
        let begins = line.role == CostRole::Plain || (follows && line.baseline().is_none());
        if begins && !bars.is_empty() {
            top += GAP;
        }
        let (from, to, ends) = span;
        bars.push(Bar {
            line,
            figure,
            from,
            to,
            ends,
            top,
        });
        top += ROW;
    }
    bars
}

/// Where each plain proxy ends, down to the last of its policies.
fn guides(svg: &mut Svg, bars: &[Bar<'_>], axis: Axis) {
    for (index, bar) in bars.iter().enumerate() {
        if bar.line.role != CostRole::Plain {
            continue;
        }
        let own = bars[index + 1..]
            .iter()
            .take_while(|it| it.line.baseline().is_some());
        if let Some(last) = own.last() {
            let x = axis.at(bar.to);
            svg.line("guide", (x, bar.top + ROW / 2.0), (x, last.top + ROW));
        }
    }
}

impl Bar<'_> {
    fn is_policy(&self) -> bool {
        self.line.baseline().is_some()
    }

    /// `+ api-key: +1.24 µs, 1.10–1.38.`
    fn told(&self, scale: Scale) -> String {
        let name = self.line.scenario.as_str();
        match &self.figure.cost {
            Some(cost) if self.is_policy() => {
                let (effect, span) = signed(&cost.difference, |value| scale.number(value));
                format!("{name} adds {effect} {} ({span}).", scale.unit)
            }
            _ => {
                let (low, high) = self.ends;
                let range = format!("{}–{}", scale.number(low), scale.number(high));
                format!("{name}: {} ({range}).", scale.full(self.to))
            }
        }
    }

    fn draw(&self, svg: &mut Svg, axis: Axis, scale: Scale, told: &str) {
        let middle = self.top + ROW / 2.0;
        let name = text::truncate(&text::clean(&self.line.scenario), LABEL_COLUMNS);
        let (label, indent) = if self.is_policy() {
            ("", 12.0)
        } else {
            ("strong", 0.0)
        };
        svg.text(label, (indent, middle + 4.0), Anchor::Start, &name);
        let (from, to) = (axis.at(self.from), axis.at(self.to));
        let class = match (self.is_policy(), self.to < self.from) {
            (false, _) => "bar whole",
            (true, false) => "bar more",
            (true, true) => "bar less",
        };
        let at = (from.min(to), middle - BAR / 2.0);
        // What is next to nothing is still to be seen.
        svg.bar(class, at, ((to - from).abs().max(1.5), BAR), told);
        let (low, high) = (axis.at(self.ends.0), axis.at(self.ends.1));
        if high - low > 0.5 {
            svg.line("ends", (low, middle), (high, middle));
            for end in [low, high] {
                svg.line("ends", (end, middle - 3.0), (end, middle + 3.0));
            }
        }
        let value = match &self.figure.cost {
            Some(cost) if self.is_policy() => {
                signed(&cost.difference, |value| scale.number(value)).0
            }
            _ => scale.number(self.to),
        };
        let class = if self.is_policy() {
            "value"
        } else {
            "value whole"
        };
        svg.text(class, (WIDTH, middle + 4.0), Anchor::End, &value);
    }
}
