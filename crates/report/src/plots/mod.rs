//! The plots of the page. Each is a function from findings to one SVG element.

pub mod capacity;
pub mod combined;
pub mod dots;
pub mod floor;
pub mod forest;
pub mod pairs;
pub mod percentiles;
pub mod scale;
pub mod timeline;
pub mod trend;
pub mod waterfall;

use crate::axis::Axis;
use crate::number::Scale;
use crate::svg::{Anchor, Svg};

/// Moves labels apart so that no two are nearer than `gap`, keeping their order and staying as near
/// as possible to where they were, within `low` and `high`.
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

/// Upright lines with their values below, from the top to `bottom`.
fn grid(svg: &mut Svg, axis: Axis, scale: Scale, bottom: f64) {
    for (index, tick) in axis.ticks().into_iter().enumerate() {
        let x = axis.at(tick);
        let class = if index == 0 { "base" } else { "grid" };
        svg.line(class, (x, 0.0), (x, bottom));
        svg.text("", (x, bottom + 16.0), Anchor::Middle, &scale.tick(tick));
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
