//! The sentence that states which gateway costs least, and by how much.

use gatebench_report::Tone;
use gatebench_report::format::{listed, percent, quantity, split_quantity};
use gatebench_stats::{Estimate, Verdict};

use crate::common::facts::{Metric, ScenarioFindings, SummaryColumn};

/// The number of gateways that the sentence compares with the best one; the table has all.
const OTHERS_MAX: usize = 3;

/// The comparison of a gateway with another one that is worse by verdict: the ratio and its bounds.
pub struct Lead {
    ratio: f64,
    bounds: Option<[f64; 2]>,
}

/// The comparison of two gateways on a metric, if its verdict is that `leader` is better.
pub fn lead(
    scenario: &ScenarioFindings,
    phase: &str,
    metric: Metric,
    leader: &str,
    other: &str,
) -> Option<Lead> {
    scenario.comparisons.iter().find_map(|found| {
        let is_candidate = found.is_of(leader, other);
        let wins = match found.result.verdict {
            Verdict::Better => is_candidate,
            Verdict::Worse => found.is_of(other, leader),
            _ => false,
        };
        let to_other = |ratio: f64| if is_candidate { ratio } else { 1.0 / ratio };
        let interval = found.result.interval;
        let same = found.metric == metric && found.phase == phase;
        (wins && same).then(|| Lead {
            ratio: to_other(found.result.ratio),
            bounds: interval.map(|it| [to_other(it.low), to_other(it.high)]),
        })
    })
}

/// The sentence for a scenario in which neither CPU time nor throughput was measured.
pub fn unknown() -> (String, Tone) {
    let words = "Neither CPU time nor throughput of a gateway was measured.";
    (words.to_owned(), Tone::Caution)
}

/// The sentence on CPU per request, or on throughput if no CPU time was measured. Its tone is plain
/// if the sentence names the cheapest gateway, and a caution otherwise.
pub fn meaning(
    scenario: &ScenarioFindings,
    column: &SummaryColumn,
    ranked: &[(&str, &Estimate)],
) -> (String, Tone) {
    let load = scenario.load(&column.phase).unwrap_or(&column.phase);
    let [(leader, best), others @ ..] = ranked else {
        return ("No gateway has a valid figure.".to_owned(), Tone::Caution);
    };
    let value = figure(column.metric, best.median);
    if others.is_empty() {
        return (format!("{leader}: {value} at {load}."), Tone::Plain);
    }
    let is_decided = column.best.is_some();
    // A limited throughput is a lower bound, and lower bounds have no ratio.
    if column.metric == Metric::Throughput && !is_decided {
        let each = ranked
            .iter()
            .map(|(name, it)| format!("{name} {}", figure(column.metric, it.median)));
        let each = listed(&each.collect::<Vec<_>>());
        return (format!("Medians at {load}: {each}."), Tone::Caution);
    }
    let mut differences = Vec::new();
    let mut open = Vec::new();
    for (name, other) in &others[..others.len().min(OTHERS_MAX)] {
        match difference(scenario, column, leader, best, name, other) {
            Some(words) => differences.push(words),
            None => open.push((*name).to_owned()),
        }
    }
    if differences.is_empty() {
        let open = listed(&open);
        let words = format!(
            "{leader} has the lowest median at {load}, {value}, but no difference from {open} can \
             be shown."
        );
        return (words, Tone::Caution);
    }
    let differences = listed(&differences);
    let open = match open.is_empty() {
        true => String::new(),
        false => format!("; no difference from {} can be shown", listed(&open)),
    };
    let head = match (is_decided, column.metric) {
        (true, Metric::Throughput) => format!("{leader} is fastest at {load}"),
        (true, _) => format!("{leader} costs least at {load}"),
        // The case of an undecided throughput has returned above.
        (false, _) => format!("By medians, {leader} costs least at {load}"),
    };
    let tone = match is_decided {
        true => Tone::Plain,
        false => Tone::Caution,
    };
    (format!("{head}: {value}, {differences}{open}."), tone)
}

/// The difference in text, `13 % less than haproxy (12–14 %)`, with the interval of a verdict.
/// Without comparisons, medians differ only if the ranges of the blocks do not overlap. None if no
/// difference can be shown.
fn difference(
    scenario: &ScenarioFindings,
    column: &SummaryColumn,
    leader: &str,
    best: &Estimate,
    name: &str,
    other: &Estimate,
) -> Option<String> {
    let of_verdict = lead(scenario, &column.phase, column.metric, leader, name);
    let lead = match of_verdict {
        Some(lead) => lead,
        None if scenario.comparisons.is_empty() && best.max < other.min => Lead {
            ratio: best.median / other.median,
            bounds: None,
        },
        None => return None,
    };
    let word = match column.metric {
        Metric::Throughput => "more",
        _ => "less",
    };
    // A side that spoiled every block is worse, but has no ratio.
    if !lead.ratio.is_finite() {
        return Some(format!("{word} than {name}"));
    }
    let share = |ratio: f64| (ratio - 1.0).abs();
    let bounds = lead.bounds.map_or(String::new(), |bounds| {
        let [one, other] = bounds.map(share);
        let (low, high) = (percent(one.min(other)), percent(one.max(other)));
        format!(" ({}–{high})", low.trim_end_matches(" %"))
    });
    let share = percent(share(lead.ratio));
    Some(format!("{share} {word} than {name}{bounds}"))
}

/// The figure in text: `49.3 µs of CPU per request`, `41.2k requests/s`.
fn figure(metric: Metric, value: f64) -> String {
    match metric {
        Metric::GatewayCpuPerRequest => {
            let (number, _) = split_quantity(value, metric.unit());
            format!("{number} µs of CPU per request")
        }
        _ => quantity(value, metric.unit()),
    }
}
