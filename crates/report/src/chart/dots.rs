//! Draws values as points and their median as a tick, row by row. The caller must pass an axis that
//! begins at zero.

use super::{BELOW, GAP, NAME_COLUMNS, Names, ROW, Ticked, WIDE, label, room};
use crate::axis::Axis;
use crate::svg::{Anchor, Svg};

/// A dot plot.
pub struct Dots {
    pub names: Names,
    pub across: Ticked,
    pub rows: Vec<Row>,
}

/// The points of a row, which belong to one subject.
pub struct Row {
    /// The CSS class that sets the color.
    pub class: String,
    pub name: String,
    /// A label that distinguishes rows with the same name, or empty.
    pub which: &'static str,
    /// The range that is drawn behind the points.
    pub span: Option<(f64, f64)>,
    /// The value, CSS class and tooltip of each point.
    pub dots: Vec<(f64, &'static str, String)>,
    pub median: Option<f64>,
    /// The median as text, or the reason for its absence.
    pub value: String,
}

impl Dots {
    /// Returns the chart as an SVG element.
    pub fn draw(&self) -> String {
        let bottom = ROW * self.rows.len() as f64;
        let names: Vec<String> = self.rows.iter().map(Row::short).collect();
        let which = room(self.rows.iter().map(|it| it.which));
        let which = if which > 0.0 { which + GAP } else { 0.0 };
        let left = room(names.iter().map(|it| &**it)) + which + 10.0;
        let right = WIDE - room(self.rows.iter().map(|it| &*it.value)) - 10.0;
        let axis = self.across.axis.on((left, right));
        let mut svg = self.names.svg((WIDE, bottom + BELOW));
        self.across.grid(&mut svg, axis, bottom);
        for (index, row) in self.rows.iter().enumerate() {
            svg.begin_group(&row.class);
            row.draw(&mut svg, axis, left, ROW * (index as f64 + 0.5));
            svg.end_group();
        }
        svg.finish()
    }
}

impl Row {
    fn short(&self) -> String {
        label(&self.name, NAME_COLUMNS)
    }

    fn draw(&self, svg: &mut Svg, axis: Axis, left: f64, middle: f64) {
        let baseline = middle + 4.0;
        svg.text("strong", (0.0, baseline), Anchor::Start, &self.short());
        if !self.which.is_empty() {
            svg.text("", (left - GAP, baseline), Anchor::End, self.which);
        }
        if let Some((low, high)) = self.span {
            svg.line("span", (axis.at(low), middle), (axis.at(high), middle));
        }
        for (value, style, tip) in &self.dots {
            svg.dot(style, (axis.at(*value), middle), 4.0, tip);
        }
        if let Some(median) = self.median {
            let x = axis.at(median);
            svg.line("tick", (x, middle - 7.5), (x, middle + 7.5));
        }
        let class = if self.median.is_some() { "value" } else { "" };
        svg.text(class, (WIDE, baseline), Anchor::End, &self.value);
    }
}
