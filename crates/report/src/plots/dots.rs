//! Blocks as points and their median as a tick, one row per variant, from zero.

use gatebench_analysis::findings::{MetricFindings, Validity};

use super::grid;
use crate::axis::Axis;
use crate::number::Scale;
use crate::palette::Palette;
use crate::svg::{Anchor, Svg};
use crate::text;

/// One row of the plot.
pub struct DotRow<'a> {
    /// Label of the variant.
    pub variant: &'a str,
    /// What was measured.
    pub found: &'a MetricFindings,
}

const WIDTH: f64 = 400.0;
const LEFT: f64 = 94.0;
const RIGHT: f64 = 68.0;
const ROW: f64 = 27.0;
const AXIS: f64 = 24.0;
const LABEL_COLUMNS: usize = 14;

/// Draws the rows; none where there is nothing to draw.
pub fn plot(id: &str, title: &str, rows: &[DotRow<'_>], palette: &Palette) -> Option<String> {
    let unit = rows.first()?.found.unit;
    let values = || {
        rows.iter()
            .flat_map(|row| &row.found.blocks)
            .map(|block| block.value)
            .filter(|value| value.is_finite())
    };
    let largest = values().fold(0.0, f64::max);
    let axis = Axis::from_zero(largest, (LEFT, WIDTH - RIGHT));
    let medians = rows
        .iter()
        .filter_map(|row| row.found.estimate.as_ref())
        .map(|estimate| estimate.median);
    let scale = Scale::of_all(medians, unit);
    let bottom = ROW * rows.len() as f64;
    let description = describe(rows, scale);
    let mut svg = Svg::new(id, (WIDTH, bottom + AXIS), title, &description);
    grid(&mut svg, axis, Scale::of(axis.domain().1, unit), bottom);
    for (index, row) in rows.iter().enumerate() {
        let middle = ROW * (index as f64 + 0.5);
        draw_row(&mut svg, row, (axis, scale), middle, palette);
    }
    Some(svg.finish())
}

fn describe(rows: &[DotRow<'_>], scale: Scale) -> String {
    let sentence = |row: &DotRow<'_>| match &row.found.estimate {
        Some(estimate) => format!(
            "{}: median {}, blocks from {} to {}.",
            row.variant,
            scale.full(estimate.median),
            scale.full(estimate.min),
            scale.full(estimate.max)
        ),
        None => format!("{}: no valid block.", row.variant),
    };
    rows.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn draw_row(
    svg: &mut Svg,
    row: &DotRow<'_>,
    (axis, scale): (Axis, Scale),
    middle: f64,
    palette: &Palette,
) {
    svg.begin_group(&palette.class(row.variant));
    let name = text::truncate(&text::clean(row.variant), LABEL_COLUMNS);
    let baseline = middle + 4.0;
    svg.text("strong", (0.0, baseline), Anchor::Start, &name);
    if let Some(estimate) = &row.found.estimate {
        let to = (axis.at(estimate.median), middle);
        svg.line("span", (axis.at(0.0), middle), to);
    }
    for block in row.found.blocks.iter().filter(|b| b.value.is_finite()) {
        let invalid = block.validity == Validity::Invalid;
        let class = if invalid { "dot hollow" } else { "dot" };
        let note = if invalid { ", invalid" } else { "" };
        let tip = format!("block {}: {}{note}", block.block, scale.full(block.value));
        svg.dot(class, (axis.at(block.value), middle), 4.0, &tip);
    }
    let Some(estimate) = &row.found.estimate else {
        let at = (WIDTH - RIGHT + 12.0, baseline);
        svg.text("", at, Anchor::Start, "invalid");
        svg.end_group();
        return;
    };
    let x = axis.at(estimate.median);
    svg.line("tick", (x, middle - 7.5), (x, middle + 7.5));
    let limited = row.found.validity == Validity::Limited;
    let mark = if limited { "*" } else { "" };
    let value = format!("{}{mark}", scale.full(estimate.median));
    svg.text("value", (WIDTH, baseline), Anchor::End, &value);
    svg.end_group();
}
