//! The end of a warm-up: the cost per response has settled when the last third of the bins costs the
//! same as the third before it. Thirds, because a falling cost falls ever more slowly.
//!
//! T. Kalibera and R. Jones (*Rigorous Benchmarking in Reasonable Time*, ISMM 2013) show why no fixed
//! time is enough.

/// The fewest bins to judge a warm-up by: two for each third.
pub const BINS_MIN: usize = 6;

/// The largest difference of the two thirds: the drift that a steady phase is allowed.
const CHANGE_MAX: f64 = 0.05;

/// The fewest responses of a third that give a cost per response.
const RESPONSES_MIN: u64 = 30;

/// A load so far, from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Responses.
    pub responses: u64,
    /// CPU time that they cost.
    pub cpu_ns: u64,
}

/// Reports whether the cost per response has settled in bins of equal length, of which `totals` are
/// the edges: one more than there are bins.
pub fn has_settled(totals: &[Total]) -> bool {
    let bins = totals.len().saturating_sub(1);
    let third = bins / 3;
    if bins < BINS_MIN {
        return false;
    }
    let cost = |from: usize| {
        let (from, to) = (totals[from], totals[from + third]);
        let responses = to.responses.saturating_sub(from.responses);
        let cpu_ns = to.cpu_ns.saturating_sub(from.cpu_ns);
        (responses >= RESPONSES_MIN && cpu_ns > 0).then(|| cpu_ns as f64 / responses as f64)
    };
    let last = cost(bins - third);
    let before = cost(bins - 2 * third);
    last.zip(before)
        .is_some_and(|(last, before)| (last / before).ln().abs() <= CHANGE_MAX)
}

#[cfg(test)]
mod tests;
