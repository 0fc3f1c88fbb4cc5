//! The first screen of a scenario: its figures, their meaning, and how far to trust them.

use gatebench_model::Variant;
use gatebench_report::format::{counted, listed, percent, quantity, split_quantity};
use gatebench_report::{Tone, Validity};
use gatebench_stats::{Estimate, MIN_BLOCKS, Verdict};

use crate::common::by_key;
use crate::common::context::Context;
use crate::common::facts::{
    Metric, PhaseKind, PhaseLine, Reason, RowStatus, ScenarioFindings, ScenarioSummary,
    SummaryColumn, VariantRow,
};
use crate::common::gates::is_smoke;
use crate::common::trials::blocks_complete;

/// The maximum number of gateways that the sentence compares with the best one; the table has all.
const OTHERS_MAX: usize = 3;

/// The summary of a scenario. `None` for a smoke run, if nothing was measured, or for a study other
/// than measuring, whose result comes first.
pub(crate) fn of_scenario(
    context: &Context,
    scenario: &ScenarioFindings,
) -> Option<ScenarioSummary> {
    if !context.plan.study.only_measures() || is_smoke(context.plan) {
        return None;
    }
    let columns = columns(scenario);
    let is_measured = |row: &VariantRow| row.status == RowStatus::Measured;
    if columns.is_empty() || !scenario.rows.iter().any(is_measured) {
        return None;
    }
    let of_metric = |metric| columns.iter().find(|it| it.metric == metric);
    let cost = of_metric(Metric::GatewayCpuPerRequest).or(of_metric(Metric::Throughput));
    let ranked = cost.map_or_else(Vec::new, |column| ranked(scenario, column));
    let order = order(scenario, &ranked);
    let (meaning, tone) = match cost {
        Some(column) => meaning(scenario, column, &ranked),
        None => {
            let words = "Neither CPU time nor throughput of a gateway was measured.";
            (words.to_owned(), Tone::Caution)
        }
    };
    Some(ScenarioSummary {
        meaning,
        tone,
        trust: trust(context, scenario, &columns),
        order,
        columns,
    })
}

/// The gateways with their estimates in the cost column: first the best gateway by verdicts, if
/// there is one, and then the others by median.
fn ranked<'f>(
    scenario: &'f ScenarioFindings,
    column: &SummaryColumn,
) -> Vec<(&'f str, &'f Estimate)> {
    let estimate = |row: &'f VariantRow| {
        let found = row.metric_in(&column.phase, column.metric)?;
        Some((row.variant.as_str(), found.estimate.as_ref()?))
    };
    let mut ranked: Vec<_> = gateways(scenario).filter_map(estimate).collect();
    let cost = |median: f64| match column.metric {
        Metric::Throughput => -median,
        _ => median,
    };
    ranked.sort_by(|(_, one), (_, other)| cost(one.median).total_cmp(&cost(other.median)));
    ranked.sort_by_key(|(name, _)| column.best.as_deref() != Some(name));
    ranked
}

/// All variants: first the ranked gateways, then other gateways, and finally the direct variant.
fn order(scenario: &ScenarioFindings, ranked: &[(&str, &Estimate)]) -> Vec<String> {
    let mut rows: Vec<&VariantRow> = scenario.rows.iter().collect();
    rows.sort_by_key(|row| {
        let rank = ranked.iter().position(|(name, _)| *name == row.variant);
        (row.kind == Variant::Direct, rank.unwrap_or(ranked.len()))
    });
    rows.iter().map(|row| row.variant.clone()).collect()
}

/// Throughput in a closed load, CPU time, latency, and peak memory in the last load. CPU time is
/// taken from the first kind of load that has it: side by side, open, closed or paced. Latency is
/// taken from an open load or, if there is none, from a paced or closed load.
fn columns(scenario: &ScenarioFindings) -> Vec<SummaryColumn> {
    use PhaseKind::{Closed, Open, Paced, SideBySide};
    let first = |kinds: &[PhaseKind]| kinds.iter().find_map(|kind| scenario.phase(*kind));
    let cpu = Metric::GatewayCpuPerRequest;
    let has_cpu = |kind: &PhaseKind| {
        let phase = scenario.phase(*kind)?;
        has(scenario, phase, cpu).then_some(phase)
    };
    let latency = first(&[Open, Paced, Closed]);
    let latencies = match scenario.phase(Open) {
        Some(_) => [Metric::AddedP99, Metric::AddedP50],
        None => [Metric::ResponseP99, Metric::ResponseP50],
    };
    // A short load has too few requests for a 99th percentile, so the median replaces it.
    let found = latencies
        .into_iter()
        .find(|it| latency.is_some_and(|phase| has(scenario, phase, *it)));
    let wanted = [
        (first(&[Closed]), Metric::Throughput),
        (
            [SideBySide, Open, Closed, Paced].iter().find_map(has_cpu),
            cpu,
        ),
        (latency, found.unwrap_or(latencies[0])),
        (scenario.phases.last(), Metric::GatewayRssAnonMax),
    ];
    let column = |(phase, metric): (Option<&PhaseLine>, Metric)| {
        let phase = phase.filter(|it| has(scenario, it, metric))?;
        let best = best(scenario, &phase.name, metric);
        let is_noisy = |name: &String| is_only_noisy(scenario, name, &phase.name, metric);
        Some(SummaryColumn {
            metric,
            phase: phase.name.clone(),
            is_best_noisy: best.as_ref().is_some_and(is_noisy),
            best,
        })
    };
    wanted.into_iter().filter_map(column).collect()
}

fn has(scenario: &ScenarioFindings, phase: &PhaseLine, metric: Metric) -> bool {
    let mut rows = scenario.rows.iter();
    rows.any(|row| row.median_in(&phase.name, metric).is_some())
}

fn gateways(scenario: &ScenarioFindings) -> impl Iterator<Item = &VariantRow> {
    let rows = scenario.rows.iter();
    rows.filter(|row| row.kind != Variant::Direct && row.status == RowStatus::Measured)
}

fn best(scenario: &ScenarioFindings, phase: &str, metric: Metric) -> Option<String> {
    let names: Vec<&str> = gateways(scenario).map(|row| row.variant.as_str()).collect();
    let leads = |leader: &&str| {
        let mut others = names.iter().filter(|other| *other != leader);
        others.all(|other| lead(scenario, phase, metric, leader, other).is_some())
    };
    let leader = names.iter().copied().find(leads)?;
    (names.len() > 1).then(|| leader.to_owned())
}

/// States whether the order of the gateways can be trusted, from how many blocks the figures come,
/// and whether some are limited. So that this sentence fits on one line, it names a cause only if
/// there is one; the page, the Markdown report and `--verbose` state all causes.
fn trust(context: &Context, scenario: &ScenarioFindings, columns: &[SummaryColumn]) -> String {
    let count = blocks_complete(context) as usize;
    let compared = gateways(scenario).count() > 1;
    let blocks = match count {
        0 => "incomplete blocks".to_owned(),
        _ => counted(count as u64, "block"),
    };
    let has_invalid = gateways(scenario).any(|row| has_reason(row, Validity::Invalid));
    let mut parts = vec![match (compared, count >= MIN_BLOCKS) {
        (false, _) if count > 1 => format!("median and range of {blocks}"),
        (false, _) => format!("figures of {blocks}"),
        (true, true) if scenario.comparisons.is_empty() => {
            format!("limited figures of {blocks} are not compared")
        }
        (true, true) if columns.iter().any(|it| it.best.is_some()) => {
            let noisy = match columns.iter().any(|it| it.is_best_noisy) {
                true => ", some noisy",
                false => "",
            };
            format!("yes for ✓ (verdicts over {blocks}{noisy})")
        }
        (true, true) => format!("no best gateway by verdicts over {blocks}"),
        (true, false) if !has_invalid => {
            format!("{blocks}, too few for a verdict (it needs {MIN_BLOCKS})")
        }
        (true, false) => format!("{blocks}, too few for a verdict"),
    }];
    if has_invalid {
        parts.push("invalid blocks are left out".to_owned());
    }
    match &limits(scenario, columns)[..] {
        [] => {}
        [why] => parts.push(format!("* is limited by {why}")),
        _ => parts.push("* is limited".to_owned()),
    }
    format!("Trust: {}.", parts.join("; "))
}

fn has_reason(row: &VariantRow, validity: Validity) -> bool {
    row.reasons.iter().any(|reason| reason.validity == validity)
}

/// Reports whether a gateway's figure is limited for this reason.
fn does_limit(reason: &Reason, row: &VariantRow, phase: &str, metric: Metric) -> bool {
    let found = row.metric_in(phase, metric);
    let is_of_phase = reason.phase.as_ref().is_none_or(|it| it == phase);
    let aspect = metric.aspect();
    found.is_some_and(|it| it.validity == Validity::Limited)
        && is_of_phase
        && aspect.is_some_and(|it| reason.spoils.contains(&it))
}

/// Reports whether a figure is limited, but only by noise.
fn is_only_noisy(scenario: &ScenarioFindings, name: &str, phase: &str, metric: Metric) -> bool {
    let Some(row) = scenario.row(name) else {
        return false;
    };
    let reasons = row.reasons.iter();
    let mut limiting = reasons
        .filter(|it| it.validity == Validity::Limited && does_limit(it, row, phase, metric))
        .peekable();
    limiting.peek().is_some() && limiting.all(|it| it.gate.is_noise())
}

/// The reasons why marked figures of the columns are limited, the most frequent first.
fn limits(scenario: &ScenarioFindings, columns: &[SummaryColumn]) -> Vec<&'static str> {
    let reasons = gateways(scenario).flat_map(|row| {
        let limits_a_column = move |reason: &&Reason| {
            reason.validity == Validity::Limited
                && columns.iter().any(|it| {
                    let is_marked = !it.is_best_noisy || it.best.as_ref() != Some(&row.variant);
                    is_marked && does_limit(reason, row, &it.phase, it.metric)
                })
        };
        row.reasons.iter().filter(limits_a_column)
    });
    let mut found = by_key(reasons.map(|reason| (reason.gate.in_short(), ())));
    // The sort is stable, so equal counts keep the order of the gateways.
    found.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.len()));
    found.into_iter().map(|(why, _)| why).collect()
}

/// A gateway's lead over another: the ratio of their figures and, if it comes from a verdict with
/// an interval, the bounds of that interval.
struct Lead {
    ratio: f64,
    bounds: Option<[f64; 2]>,
}

/// The comparison of two gateways on a metric, if its verdict is that `leader` is better.
fn lead(
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

/// The sentence on CPU per request, or on throughput if no CPU time was measured. Its tone is plain
/// if it names the best gateway by verdicts or the only gateway, and a caution otherwise.
fn meaning(
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
    // A throughput without a verdict may be limited. It is then a lower bound, and a ratio of lower
    // bounds is meaningless.
    if column.metric == Metric::Throughput && !is_decided {
        let each = ranked
            .iter()
            .map(|(name, it)| format!("{name} {}", figure(column.metric, it.median)));
        let each = listed(&each.collect::<Vec<_>>());
        return (format!("Medians at {load}: {each}."), Tone::Caution);
    }
    if !is_decided && is_compared(scenario, column) {
        return (undecided(scenario, column, ranked), Tone::Caution);
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
    let open = match &open[..] {
        [] => String::new(),
        [one] => format!("; its range overlaps that of {one}"),
        _ => format!("; its range overlaps those of {}", listed(&open)),
    };
    let head = match (is_decided, column.metric) {
        (true, Metric::Throughput) => format!("{leader} is fastest at {load}"),
        (true, _) => format!("{leader} costs least at {load}"),
        // An undecided throughput was handled above.
        (false, _) => format!("By medians, {leader} costs least at {load}"),
    };
    let tone = match is_decided {
        true => Tone::Plain,
        false => Tone::Caution,
    };
    (format!("{head}: {value}, {differences}{open}."), tone)
}

/// Reports whether at least one pair of gateways was compared on the figure of a column.
fn is_compared(scenario: &ScenarioFindings, column: &SummaryColumn) -> bool {
    scenario.comparisons.iter().any(|it| {
        let is_of_column = it.metric == column.metric && it.phase == column.phase;
        is_of_column && !matches!(it.result.verdict, Verdict::TooFewBlocks { .. })
    })
}

/// The sentence on CPU per request if no gateway is better than all others by verdicts. It names
/// the gateways that may cost least, which are those that no verdict calls worse.
fn undecided(
    scenario: &ScenarioFindings,
    column: &SummaryColumn,
    ranked: &[(&str, &Estimate)],
) -> String {
    let load = scenario.load(&column.phase).unwrap_or(&column.phase);
    let leads = |one: &str, other: &str| lead(scenario, &column.phase, column.metric, one, other);
    let is_beaten = |(name, _): &(&str, &Estimate)| {
        ranked.iter().any(|(other, _)| leads(other, name).is_some())
    };
    let (beaten, contenders): (Vec<_>, Vec<_>) = ranked.iter().copied().partition(is_beaten);
    let Some((leader, best)) = contenders.first() else {
        return format!("No verdict states which gateway costs least at {load}.");
    };
    let value = figure(column.metric, best.median);
    if beaten.is_empty() {
        return format!(
            "No difference in cost can be shown at {load}; {leader} has the lowest median, {value}."
        );
    }
    let others = beaten.iter();
    let differences =
        others.filter_map(|(name, other)| difference(scenario, column, leader, best, name, other));
    let differences: Vec<String> = differences.take(OTHERS_MAX).collect();
    let differences = match differences.is_empty() {
        true => String::new(),
        false => format!(", {}", listed(&differences)),
    };
    let figures = format!("{leader}: {value}{differences}.");
    let contenders: Vec<&str> = contenders.iter().map(|(name, _)| *name).collect();
    let said = match contenders.len() {
        // Another gateway costs more than some third one, but maybe not more than the leader.
        1 => {
            format!("No verdict shows that a gateway costs less than {leader} at {load}. {figures}")
        }
        2 | 3 => format!(
            "{} costs least at {load}; no verdict separates them. {figures}",
            contenders.join(" or ")
        ),
        many => format!(
            "{many} gateways may cost least at {load}; no verdict separates them. {figures}"
        ),
    };
    let all = gateways(scenario).map(|row| row.variant.as_str());
    let without: Vec<String> = all
        .filter(|name| ranked.iter().all(|(it, _)| it != name))
        .map(str::to_owned)
        .collect();
    match without.is_empty() {
        true => said,
        false => format!("{said} No valid figure: {}.", listed(&without)),
    }
}

/// The difference as text, `13 % less than haproxy (12–14 %)`, with the interval of a verdict.
/// Without comparisons, medians count as different only if the ranges of the blocks do not overlap.
/// `None` if no difference can be shown.
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
        None if !is_compared(scenario, column) && best.max < other.min => Lead {
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

/// The figure as text: `49.3 µs of CPU per request`, `41.2k requests/s`.
fn figure(metric: Metric, value: f64) -> String {
    match metric {
        Metric::GatewayCpuPerRequest => {
            let (number, _) = split_quantity(value, metric.unit());
            format!("{number} µs of CPU per request")
        }
        _ => quantity(value, metric.unit()),
    }
}
