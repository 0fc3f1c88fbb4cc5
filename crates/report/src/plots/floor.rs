//! A quantity of a soak over time: the range of each stretch, its floor, and the line through the floor.

use gatebench_analysis::findings::{SoakQuantity, Unit};

use crate::axis::Axis;
use crate::number::Scale;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;

/// Draws a quantity; `class` sets its colour.
pub fn plot(id: &str, found: &SoakQuantity, class: &str) -> String {
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &found.title, &found.text);
    let (low, high) = range(found);
    // In the unit it is told in, so that its ticks are round there.
    let scale = Scale::of(high, found.unit);
    let ends = (low / scale.divisor, high / scale.divisor);
    let value = Axis::linear(ends, (HEIGHT - BOTTOM, TOP));
    let last = found.stretches.last().map_or(1.0, |it| it.at_seconds);
    let time = Axis::linear((0.0, last), (LEFT, WIDTH - RIGHT));
    frame(&mut svg, scale, &value, &time);
    svg.begin_group(class);
    let place = |at: f64, of: f64| (time.at(at), value.at(of / scale.divisor));
    for stretch in &found.stretches {
        let ends = [stretch.low, stretch.high].map(|end| place(stretch.at_seconds, end));
        svg.line("range", ends[0], ends[1]);
    }
    for sample in &found.growth.floor {
        let at = place(sample.at_seconds, sample.value);
        svg.dot(
            "floor",
            at,
            2.4,
            &Scale::of(sample.value, found.unit).full(sample.value),
        );
    }
    if let Some(ends) = found.line {
        svg.polyline("curve", &ends.map(|(at, of)| place(at, of)));
    }
    svg.end_group();
    svg.finish()
}

/// What the values span, with a little room; flat ones get some.
fn range(found: &SoakQuantity) -> (f64, f64) {
    let lows = found.stretches.iter().map(|it| it.low);
    let highs = found.stretches.iter().map(|it| it.high);
    let low = lows.fold(f64::INFINITY, f64::min);
    let high = highs.fold(f64::NEG_INFINITY, f64::max);
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 1.0);
    }
    // Ticks of what is counted are whole.
    let least = if found.unit == Unit::Count { 1.5 } else { 0.5 };
    let room = ((high - low) * 0.08).max(high.abs() * 0.002).max(least);
    ((low - room).max(0.0), high + room)
}

fn frame(svg: &mut Svg, scale: Scale, value: &Axis, time: &Axis) {
    let right = WIDTH - RIGHT;
    for tick in value.ticks() {
        let y = value.at(tick);
        svg.line("grid", (LEFT, y), (right, y));
        svg.text(
            "",
            (LEFT - 6.0, y + 4.0),
            Anchor::End,
            &scale.tick(tick * scale.divisor),
        );
    }
    let bottom = HEIGHT - BOTTOM;
    svg.line("base", (LEFT, bottom), (right, bottom));
    let (unit, divisor) = match time.domain().1 {
        last if last >= 7_200.0 => ("h", 3_600.0),
        last if last >= 180.0 => ("min", 60.0),
        _ => ("s", 1.0),
    };
    let whole = Axis::linear((0.0, time.domain().1 / divisor), (LEFT, right));
    for tick in whole.ticks() {
        let at = (whole.at(tick), bottom + 16.0);
        let words = format!("{} {unit}", (tick * 100.0).round() / 100.0);
        svg.text("", at, Anchor::Middle, &words);
    }
}
