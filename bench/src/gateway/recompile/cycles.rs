//! Compares seconds in which definitions are compiled with seconds in which none are compiled.

/// One second of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    pub p99_ms: f64,
    /// CPU time spent on compiling.
    pub compiling_ns: u64,
}

/// The results of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// The median of the 99th percentiles of the seconds in which nothing is compiled.
    pub idle_p99_ms: f64,
    /// The median of the 99th percentiles of the seconds in which definitions are compiled.
    pub compiling_p99_ms: f64,
    /// The share of a second that was spent on compiling: the median over the seconds in which
    /// definitions are compiled.
    pub compiling_share: f64,
}

/// A second with at most this CPU time for compiling counts as one without compilation.
const IDLE_MAX_NS: u64 = 1_000_000;

/// A second with at least this share of the largest CPU time for compiling counts as one with
/// compilation. Seconds between this limit and [`IDLE_MAX_NS`] are at the beginning or the end of a
/// compilation, and belong to neither kind.
const COMPILING_MIN: f64 = 0.25;

/// Summarizes the seconds of a process by kind; returns `None` if one kind is missing.
pub fn block(seconds: &[Second]) -> Option<Block> {
    let most_ns = seconds.iter().map(|second| second.compiling_ns).max()?;
    let enough_ns = (COMPILING_MIN * most_ns as f64).max(IDLE_MAX_NS as f64 + 1.0);
    let idle = |second: &&Second| second.compiling_ns <= IDLE_MAX_NS;
    let compiling = |second: &&Second| second.compiling_ns as f64 >= enough_ns;
    let p99s = |seconds: &mut dyn Iterator<Item = &Second>| {
        gatebench_stats::median(&seconds.map(|second| second.p99_ms).collect::<Vec<_>>())
    };
    let shares = seconds
        .iter()
        .filter(compiling)
        .map(|second| second.compiling_ns as f64 / 1e9);
    Some(Block {
        idle_p99_ms: p99s(&mut seconds.iter().filter(idle))?,
        compiling_p99_ms: p99s(&mut seconds.iter().filter(compiling))?,
        compiling_share: gatebench_stats::median(&shares.collect::<Vec<_>>())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_distinguished_by_the_time_spent_compiling() {
        let second = |p99_ms: f64, compiling_ms: u64| Second {
            p99_ms,
            compiling_ns: compiling_ms * 1_000_000,
        };
        let seconds = [
            second(1.0, 0),
            second(4.0, 400),
            second(9.0, 50),
            second(3.0, 1),
            second(6.0, 200),
        ];
        let expected = Block {
            idle_p99_ms: 2.0,
            compiling_p99_ms: 5.0,
            compiling_share: 0.3,
        };
        let found = block(&seconds).map(|block| Block {
            compiling_share: (block.compiling_share * 1e6).round() / 1e6,
            ..block
        });
        assert_eq!(found, Some(expected));
        assert_eq!(block(&seconds[..1]), None);
        assert_eq!(block(&[]), None);
    }
}
