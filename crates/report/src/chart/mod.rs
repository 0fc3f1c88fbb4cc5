//! The charts of the page. Each of the five kinds draws its data as SVG and is independent of the
//! study. In charts of bars, dots and lines, the margins adapt to the labels, long names are
//! shortened, and axis labels that would overlap are left out.

pub mod bars;
pub mod dots;
pub mod forest;
pub mod lines;
pub mod timeline;

use crate::axis::Axis;
use crate::format::UnitScale;
use crate::svg::{Anchor, Svg};
use crate::{Unit, text};

/// The width of most charts, in pixels.
pub const WIDE: f64 = 520.0;
/// The width of small charts, in pixels.
pub const NARROW: f64 = 350.0;

/// The approximate width of a label character, in pixels.
const GLYPH: f64 = 6.2;
/// The pixels between a label and the chart.
const GAP: f64 = 8.0;
/// The minimum vertical distance between labels, in pixels.
const LABEL_GAP: f64 = 13.0;
/// The height of the labels below an axis, in pixels.
const BELOW: f64 = 24.0;
const ROW: f64 = 24.0;
/// The height of the bar in a row, in pixels.
const BAR: f64 = 12.0;
/// The maximum width of a row's name, in columns of text.
const NAME_COLUMNS: usize = 30;

/// A chart's id, which is unique on the page, and its text for screen readers.
pub struct Names {
    id: String,
    title: String,
    description: String,
}

impl Names {
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            description: description.into(),
        }
    }

    fn svg(&self, size: (f64, f64)) -> Svg {
        Svg::new(&self.id, size, &self.title, &self.description)
    }
}

/// An axis with its ticks and their labels.
pub struct Ticked {
    axis: Axis,
    ticks: Vec<(f64, String)>,
    name: String,
}

impl Ticked {
    pub fn new(axis: Axis, label: impl Fn(f64) -> String) -> Self {
        let ticks = axis.ticks().into_iter().map(|it| (it, label(it)));
        Self::with(axis, ticks.collect())
    }

    pub fn with(axis: Axis, ticks: Vec<(f64, String)>) -> Self {
        Self {
            axis,
            ticks,
            name: String::new(),
        }
    }

    /// Labels all ticks in the unit that suits the end of the axis.
    pub fn scaled(axis: Axis, unit: Unit) -> Self {
        let scale = UnitScale::of(axis.domain().1, unit);
        Self::new(axis, |tick| scale.tick(tick))
    }

    /// Creates a logarithmic axis of times in nanoseconds on which each tick has its own unit.
    pub fn times(values: impl IntoIterator<Item = f64>) -> Self {
        let unit = Unit::Nanoseconds;
        let label = |tick| UnitScale::of(tick, unit).tick(tick);
        Self::new(Axis::covering_log(values), label)
    }

    /// Adds the name of the axis below the labels.
    pub fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Writes the labels below `bottom`, except those that would touch the previous label.
    fn below(&self, svg: &mut Svg, axis: Axis, bottom: f64, width: f64) {
        let mut free = f64::NEG_INFINITY;
        for (value, label) in &self.ticks {
            let half = room([&**label]) / 2.0;
            let x = axis.at(*value).min(width - half).max(half);
            if x - half >= free {
                svg.text("", (x, bottom + 16.0), Anchor::Middle, label);
                free = x + half + 3.0;
            }
        }
    }

    fn grid(&self, svg: &mut Svg, axis: Axis, bottom: f64) {
        for (index, (tick, _)) in self.ticks.iter().enumerate() {
            let x = axis.at(*tick);
            let class = if index == 0 { "base" } else { "grid" };
            svg.line(class, (x, 0.0), (x, bottom));
        }
        self.below(svg, axis, bottom, WIDE);
    }
}

/// Returns the approximate width of the longest label in pixels.
fn room<'a>(labels: impl IntoIterator<Item = &'a str>) -> f64 {
    let columns = labels.into_iter().map(text::width).max();
    GLYPH * columns.unwrap_or(0) as f64
}

/// Shortens a name to at most this many columns of text.
fn label(name: &str, columns: usize) -> String {
    text::truncate(&text::clean(name), columns)
}

/// Moves labels so that no two are closer than `gap`. Labels keep their order, stay near their
/// places and, if there is room, remain between `low` and `high`.
fn spread(places: &mut [f64], gap: f64, low: f64, high: f64) {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    let mut floor = low;
    for index in &order {
        places[*index] = places[*index].max(floor);
        floor = places[*index] + gap;
    }
    let mut ceiling = high;
    for index in order.iter().rev() {
        places[*index] = places[*index].min(ceiling);
        ceiling = places[*index] - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn labels_keep_their_order_and_distance() {
        let mut places = [50.0, 52.0, 10.0];
        spread(&mut places, 12.0, 0.0, 60.0);
        assert_eq!(places, [48.0, 60.0, 10.0]);
    }
}
