//! A measure of the good group block by block, beside failing groups and beside healthy ones.

use gatebench_analysis::findings::IsolationMeasure;

use crate::axis::Axis;
use crate::number::Scale;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;

/// Draws a measure: full points beside failing groups, hollow ones beside healthy groups, a line between the
/// two of a block. `class` sets the colour.
pub fn plot(id: &str, found: &IsolationMeasure, class: &str) -> String {
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), found.title, &found.text);
    let values = || found.blocks.iter().flat_map(|it| [it.failing, it.healthy]);
    let top = values().fold(0.0, f64::max);
    let value = Axis::from_zero(top, (HEIGHT - BOTTOM, TOP));
    let count = found.blocks.len().max(1) as f64;
    let scale = Scale::of(top, found.unit);
    for tick in value.ticks() {
        let y = value.at(tick);
        svg.line("grid", (LEFT, y), (WIDTH - RIGHT, y));
        svg.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &scale.tick(tick));
    }
    svg.begin_group(class);
    let step = (WIDTH - RIGHT - LEFT) / count;
    for (block, index) in found.blocks.iter().zip(0_u32..) {
        let x = LEFT + step * (f64::from(index) + 0.5);
        let (failing, healthy) = (value.at(block.failing), value.at(block.healthy));
        let tip = format!(
            "block {}: {} beside failing, {} beside healthy requests",
            block.block,
            scale.full(block.failing),
            scale.full(block.healthy)
        );
        svg.line("guide", (x, failing), (x, healthy));
        svg.dot("dot hollow", (x, healthy), 4.0, &tip);
        svg.dot("dot", (x, failing), 4.0, &tip);
    }
    svg.end_group();
    let below = ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8.0);
    svg.text("", below, Anchor::Middle, "block by block");
    svg.finish()
}
