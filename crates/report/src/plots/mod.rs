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
