//! Draws values and their ranges as bars, one per row. A bar may begin anywhere on the axis, so the
//! parts of a whole can follow one another.

use super::{BAR, BELOW, NAME_COLUMNS, Names, ROW, Ticked, WIDE, label, room};
use crate::axis::Axis;
use crate::svg::{Anchor, Svg};

/// The space in pixels above the first row of a group.
const GAP: f64 = 9.0;
/// The indentation in pixels of a part's name.
const INDENT: f64 = 12.0;

/// A bar chart with one bar per row.
pub struct Bars {
    pub names: Names,
    pub across: Ticked,
    pub rows: Vec<Bar>,
}

/// A bar with its name and value.
pub struct Bar {
    /// The CSS class that sets the color.
    pub class: String,
    pub name: String,
    /// True if the bar shows a part of a whole. The whole is the nearest bar above it that does not
    /// show a part.
    pub is_part: bool,
    pub is_apart: bool,
    /// Both ends of the bar; `None` if there is no value.
    pub span: Option<(f64, f64)>,
    /// The ends of the value's interval or range.
    pub ends: (f64, f64),
    pub value: String,
    pub tip: String,
}

impl Bars {
    /// Returns the chart as an SVG element.
    pub fn draw(&self) -> String {
        let mut bottom = 0.0;
        let top = |bar: &Bar| {
            let top = bottom + if bar.is_apart { GAP } else { 0.0 };
            bottom = top + ROW;
            top
        };
        let tops: Vec<f64> = self.rows.iter().map(top).collect();
        let names: Vec<String> = self.rows.iter().map(Bar::short).collect();
        let has_parts = self.rows.iter().any(|it| it.is_part);
        let indent = if has_parts { INDENT } else { 0.0 };
        let left = room(names.iter().map(|it| &**it)) + indent + 10.0;
        let right = WIDE - room(self.rows.iter().map(|it| &*it.value)) - 10.0;
        let axis = self.across.axis.on((left, right));
        let mut svg = self.names.svg((WIDE, bottom + BELOW));
        self.across.grid(&mut svg, axis, bottom);
        for (index, bar) in self.rows.iter().enumerate() {
            svg.begin_group(&bar.class);
            let parts = self.rows[index + 1..].iter().take_while(|it| it.is_part);
            let last = index + parts.count();
            if let Some((_, to)) = bar.span.filter(|_| !bar.is_part && last > index) {
                let x = axis.at(to);
                svg.line("guide", (x, tops[index] + ROW / 2.0), (x, tops[last] + ROW));
            }
            bar.draw(&mut svg, axis, tops[index] + ROW / 2.0, has_parts);
            svg.end_group();
        }
        svg.finish()
    }
}

impl Bar {
    fn short(&self) -> String {
        label(&self.name, NAME_COLUMNS)
    }

    fn draw(&self, svg: &mut Svg, axis: Axis, middle: f64, has_parts: bool) {
        let (style, indent) = match self.is_part {
            true => ("", INDENT),
            false => ("strong", 0.0),
        };
        svg.text(style, (indent, middle + 4.0), Anchor::Start, &self.short());
        if let Some((from, to)) = self.span {
            let class = match (self.is_part, to < from) {
                (false, _) => "bar whole",
                (true, false) => "bar more",
                (true, true) => "bar less",
            };
            let (from, to) = (axis.at(from), axis.at(to));
            let at = (from.min(to), middle - BAR / 2.0);
            // A value close to zero must still be visible.
            svg.bar(class, at, ((to - from).abs().max(1.5), BAR), &self.tip);
            let (low, high) = (axis.at(self.ends.0), axis.at(self.ends.1));
            if high - low > 0.5 {
                svg.interval("ends", (low, high), middle, 3.0);
            }
        }
        let class = match has_parts && !self.is_part {
            true => "value whole",
            false => "value",
        };
        svg.text(class, (WIDE, middle + 4.0), Anchor::End, &self.value);
    }
}
