//! Decides whether a cell meets its requirement, from the intervals of the ratios.

use super::Measured;
use super::cells::{Asked, Cell};
use super::table::{over_bare, over_peer};
use crate::spread::ratios;

/// The minimum number of rounds for a verdict, equal to gatebench's minimum number of blocks.
const ROUNDS_MIN: usize = 10;

/// The verdict on a ratio that must not exceed a bound.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Held,
    Missed,
    /// The interval contains the bound, or there are too few rounds.
    Open,
}

impl Verdict {
    fn of(rounds: usize, interval: Option<(f64, f64)>, most: f64) -> Self {
        match interval.filter(|_| rounds >= ROUNDS_MIN) {
            Some((_, high)) if high <= most => Self::Held,
            Some((low, _)) if low > most => Self::Missed,
            _ => Self::Open,
        }
    }
}

/// Returns one line for all requirements that are met, and one for each ratio that misses its
/// requirement or is undecided.
pub fn of(cell: &Cell, measured: &Measured) -> Vec<String> {
    let mut held = Vec::new();
    let mut lines = Vec::new();
    for (what, values, most) in ratios_asked(cell, measured) {
        let Some(ratio) = ratios(&values) else {
            continue;
        };
        let shown = ratio.interval.map_or(String::new(), |(low, high)| {
            format!(", 95 % interval of the mean {low:.2}–{high:.2}")
        });
        match Verdict::of(values.len(), ratio.interval, most) {
            Verdict::Held => held.push(what),
            Verdict::Missed => lines.push(format!("missed: {what} {:.2}{shown}", ratio.median)),
            Verdict::Open => lines.push(format!(
                "undecided after {} rounds: {what} {:.2}{shown}; use more --rounds, at least {ROUNDS_MIN}",
                values.len(),
                ratio.median
            )),
        }
    }
    if !held.is_empty() {
        lines.insert(0, format!("met: {}", held.join(", ")));
    }
    lines
}

/// Returns each required ratio: its name, its value in each round, and its highest permitted value.
/// If a cell limits only the ratio to the bare work, the reference gateway must still cost no more
/// than any peer.
fn ratios_asked(cell: &Cell, measured: &Measured) -> Vec<(String, Vec<f64>, f64)> {
    let (of_peers, of_bare_work) = match cell.asked {
        Asked::OfPeers(most) => (most, None),
        Asked::OfBareWork(most) => (1.0, Some(most)),
    };
    let peers = measured.chosen.gateways.iter().skip(1);
    let pairs = peers.flat_map(|peer| cell.all().map(move |scenario| (scenario, peer)));
    let peer_ratios = pairs.map(|(scenario, peer)| {
        let values = over_peer(measured, scenario, peer);
        (format!("{scenario} ÷ {peer}"), values, of_peers)
    });
    let chains = of_bare_work.map(|most| cell.scenarios.iter().map(move |name| (name, most)));
    let bare_work_ratios = chains.into_iter().flatten().map(|(scenario, most)| {
        let values = over_bare(cell, measured, scenario);
        (format!("{scenario} ÷ bare work"), values, most)
    });
    bare_work_ratios.chain(peer_ratios).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_on_one_side_of_the_bound_decides() {
        let of = |interval| Verdict::of(10, interval, 1.0);
        assert_eq!(of(Some((0.8, 1.0))), Verdict::Held);
        assert_eq!(of(Some((1.1, 1.2))), Verdict::Missed);
        assert_eq!(of(Some((0.9, 1.1))), Verdict::Open);
        assert_eq!(of(None), Verdict::Open);
    }

    #[test]
    fn fewer_than_ten_rounds_decide_nothing() {
        assert_eq!(Verdict::of(9, Some((0.8, 0.9)), 1.0), Verdict::Open);
        assert_eq!(Verdict::of(9, Some((1.8, 1.9)), 1.0), Verdict::Open);
    }
}
