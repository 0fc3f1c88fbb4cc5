//! Pairs each block in which the observers ran with the adjacent block in which they were stopped.

use super::seconds::Second;

/// The maximum difference between the beginning of a block and that of its first second, in
/// seconds.
const TOLERANCE_S: f64 = 0.1;

/// Computes a figure from the seconds of a block; returns `None` if the seconds lack the values for
/// it.
pub type Figure = fn(&[&Second]) -> Option<f64>;

/// The compared figures: the load, the name, and how to compute it.
pub const FIGURES: [(&str, &str, Figure); 6] = [
    ("saturate", "gateway_cpu_per_request_ns", cpu_per_request),
    ("saturate", "throughput_per_second", |it| {
        mean(it, "completed")
    }),
    ("saturate", "response_p99_ns", |it| {
        log_mean(it, "response_p99_ns")
    }),
    ("steady", "gateway_cpu_per_request_ns", cpu_per_request),
    ("steady", "response_p50_ns", |it| {
        log_mean(it, "response_p50_ns")
    }),
    ("steady", "response_p99_ns", |it| {
        log_mean(it, "response_p99_ns")
    }),
];

/// A period in which the observers ran, or in which they were stopped.
#[derive(Clone, Debug)]
pub struct Block {
    /// The number of the pair, shared with an adjacent block of the other kind.
    pub pair: u32,
    pub is_observed: bool,
    /// True if the host of the virtual machine took CPU time in the compared part of the period, or
    /// if this is unknown. The last 20 ms are not checked.
    pub is_stolen: bool,
    /// The beginning and the end of the compared part of the period, in seconds since 1970.
    pub from_s: f64,
    pub to_s: f64,
}

impl Block {
    /// Reports whether the observers run in the first block of a pair. The order is a Thue-Morse
    /// sequence, which is balanced and never periodic, so neither a drift nor a periodic
    /// disturbance favors one kind of block.
    pub fn is_observed_first(pair: u32) -> bool {
        pair.count_ones() % 2 == 1
    }

    fn holds(&self, second: &Second) -> bool {
        second.from_s >= self.from_s - TOLERANCE_S && second.to_s <= self.to_s + TOLERANCE_S
    }
}

/// The seconds of a load in two adjacent blocks.
pub struct Pair {
    pub phase: String,
    /// True if the host took time from a core in one of the blocks.
    pub is_stolen: bool,
    observed: Vec<Second>,
    unobserved: Vec<Second>,
}

impl Pair {
    /// Returns the figure with observers divided by the figure without them.
    pub fn ratio(&self, figure: Figure) -> Option<f64> {
        let of = |seconds: &[Second]| figure(&seconds.iter().collect::<Vec<_>>());
        Some(of(&self.observed)? / of(&self.unobserved)?)
    }
}

/// Returns the pairs whose two blocks contain whole seconds of the same load.
pub fn of(blocks: &[Block], seconds: &[Second]) -> Vec<Pair> {
    let held = |block: &Block| -> Vec<Second> {
        seconds
            .iter()
            .filter(|it| block.holds(it))
            .cloned()
            .collect()
    };
    let pair = |two: &[Block]| {
        let [first, second] = two else { return None };
        let (on, off) = match first.is_observed {
            true => (held(first), held(second)),
            false => (held(second), held(first)),
        };
        let phase = on.first()?.phase.clone();
        let is_same = |it: &Second| it.phase == phase;
        let is_whole = !off.is_empty() && on.iter().chain(&off).all(is_same);
        is_whole.then(|| Pair {
            phase: phase.clone(),
            is_stolen: first.is_stolen || second.is_stolen,
            observed: on,
            unobserved: off,
        })
    };
    let is_pair = |one: &Block, next: &Block| one.pair == next.pair;
    blocks.chunk_by(is_pair).filter_map(pair).collect()
}

fn cpu_per_request(seconds: &[&Second]) -> Option<f64> {
    Some(mean(seconds, "gateway_cpu_ns")? / mean(seconds, "completed")?)
}

fn values(seconds: &[&Second], name: &str) -> Option<Vec<f64>> {
    let values: Option<Vec<f64>> = seconds
        .iter()
        .map(|it| it.figures.get(name).copied())
        .collect();
    values.filter(|it| !it.is_empty())
}

fn mean(seconds: &[&Second], name: &str) -> Option<f64> {
    let values = values(seconds, name)?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the geometric mean, which a single slow second affects less than the arithmetic mean.
fn log_mean(seconds: &[&Second], name: &str) -> Option<f64> {
    let values = values(seconds, name)?;
    let logs: f64 = values.iter().map(|it| it.ln()).sum();
    Some((logs / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn second(phase: &str, from_s: f64, completed: f64) -> Second {
        Second {
            phase: phase.into(),
            from_s,
            to_s: from_s + 1.0,
            figures: [
                ("completed".to_owned(), completed),
                ("gateway_cpu_ns".to_owned(), 600.0),
            ]
            .into(),
        }
    }

    fn block(pair: u32, is_observed: bool, from_s: f64) -> Block {
        Block {
            pair,
            is_observed,
            is_stolen: false,
            from_s,
            to_s: from_s + 2.0,
        }
    }

    #[test]
    fn only_seconds_that_lie_within_a_block_count() {
        let blocks = [block(0, true, 10.95), block(0, false, 13.05)];
        let seconds: Vec<Second> = (0..8)
            .map(|it| second("a", 10.0 + f64::from(it), 100.0 + f64::from(it)))
            .collect();
        let [pair] = &of(&blocks, &seconds)[..] else {
            panic!("one pair")
        };
        let starts = |seconds: &[Second]| -> Vec<f64> {
            seconds.iter().map(|it| it.figures["completed"]).collect()
        };
        assert_eq!(starts(&pair.observed), [101.0, 102.0]);
        assert_eq!(starts(&pair.unobserved), [103.0, 104.0]);
        assert_eq!(pair.ratio(|it| mean(it, "completed")), Some(101.5 / 103.5));
        assert_eq!(pair.ratio(cpu_per_request), Some(103.5 / 101.5));
        assert_eq!(pair.ratio(|it| mean(it, "other")), None);
    }

    #[test]
    fn a_pair_across_two_loads_does_not_count() {
        let blocks = [block(0, false, 10.0), block(0, true, 12.0)];
        let seconds = [second("a", 10.0, 1.0), second("b", 12.0, 1.0)];
        assert!(of(&blocks, &seconds).is_empty());
        let seconds = [second("a", 10.0, 1.0), second("a", 12.0, 1.0)];
        assert_eq!(of(&blocks, &seconds).len(), 1);
        assert!(of(&blocks[..1], &seconds).is_empty());
        assert!(!of(&blocks, &seconds)[0].is_stolen);
        let stolen = Block {
            is_stolen: true,
            ..blocks[1].clone()
        };
        assert!(of(&[blocks[0].clone(), stolen], &seconds)[0].is_stolen);
    }

    #[test]
    fn each_kind_of_block_is_first_equally_often() {
        let first = (0..64).filter(|it| Block::is_observed_first(*it)).count();
        assert_eq!(first, 32);
    }

    #[test]
    fn a_geometric_mean_is_the_root_of_the_product() {
        let seconds = [second("a", 0.0, 2.0), second("a", 1.0, 8.0)];
        let mean = log_mean(&seconds.iter().collect::<Vec<_>>(), "completed").unwrap();
        assert!((mean - 4.0).abs() < 1e-12);
    }
}
