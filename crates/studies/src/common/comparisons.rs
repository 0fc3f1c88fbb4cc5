//! Compares gateways in pairs, metric by metric, over the blocks in which both have a usable value.

use gatebench_model::{AbTest, Variant};
use gatebench_report::Validity;
use gatebench_report::format::{counted, ratio_and_interval};
use gatebench_stats::{Comparison, Direction, MIN_BLOCKS, Pair, Rule, Spoiled, Verdict};

use super::context::Context;
use super::facts::{
    BlockValue, ComparisonFindings, Metric, MetricFindings, PhaseKind, ScenarioFindings,
    SpoiledBlocks, VariantRow,
};
use super::metrics::decided_by;
use super::spoiled;
use super::spoiled::Side;
use super::trials::blocks_complete;

/// The smallest relative effect that matters, in either direction.
pub(crate) const SMALLEST_EFFECT: f64 = 0.02;

pub(crate) fn rule(seed: u64) -> Rule {
    let smallest_effect = SMALLEST_EFFECT;
    Rule {
        smallest_effect,
        seed,
    }
}

/// The comparisons of every scenario, with the scenario's index; empty if the run has too few
/// blocks for a verdict.
pub(crate) fn cells_of_run(
    context: &Context,
    scenarios: &[ScenarioFindings],
) -> Vec<(usize, Cell)> {
    if (blocks_complete(context) as usize) < MIN_BLOCKS {
        return Vec::new();
    }
    let ab_test = context.plan.study.ab();
    let of_scenario = |(index, scenario)| {
        let cells = cells(scenario, ab_test).into_iter();
        cells.map(move |cell| (index, cell)).collect::<Vec<_>>()
    };
    scenarios.iter().enumerate().flat_map(of_scenario).collect()
}

/// A comparison of two gateways on a metric, before it is judged.
pub(crate) struct Cell {
    /// The comparison, whose result and text are filled in later.
    pub(crate) found: ComparisonFindings,
    pub(crate) pair: Pair,
}

/// The subject of a comparison: a metric in a kind of phase.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) kind: PhaseKind,
    pub(crate) metric: Metric,
    pub(crate) direction: Direction,
    pub(crate) primary: bool,
}

/// The subjects of comparisons within a run. An A/B test compares more metrics, and may choose
/// another deciding metric.
fn subjects(scenario: &ScenarioFindings, ab_test: Option<&AbTest>) -> Vec<Subject> {
    let decisive = ab_test.map_or(Metric::GatewayCpuPerRequest, |ab_test| {
        decided_by(ab_test.metric)
    });
    let mut subjects = all_subjects(scenario, decisive);
    if ab_test.is_none() {
        let more = [Metric::AddedP90, Metric::GatewayRssAnonMax];
        subjects.retain(|subject| !more.contains(&subject.metric));
    }
    subjects
}

/// All subjects of comparisons between gateways, the deciding one first. CPU per request depends on
/// the load, so it is compared in a side-by-side phase if there is one, and otherwise at a fixed
/// rate if there is one.
pub(crate) fn all_subjects(scenario: &ScenarioFindings, decisive: Metric) -> Vec<Subject> {
    use Direction::{HigherIsBetter, LowerIsBetter};
    use PhaseKind::{Closed, Open, Paced, SideBySide};
    let has = |kind: &PhaseKind| scenario.phase(*kind).is_some();
    let last = [Open, Closed, Paced].into_iter().find(has).unwrap_or(Open);
    let shared = Some(SideBySide).filter(has).unwrap_or(last);
    let subject = |(kind, metric, direction)| Subject {
        kind,
        metric,
        direction,
        primary: metric == decisive,
    };
    let mut subjects = [
        (shared, Metric::GatewayCpuPerRequest, LowerIsBetter),
        (Closed, Metric::Throughput, HigherIsBetter),
        (Open, Metric::AddedP50, LowerIsBetter),
        (Open, Metric::AddedP99, LowerIsBetter),
        (Open, Metric::AddedP90, LowerIsBetter),
        (last, Metric::GatewayRssAnonMax, LowerIsBetter),
    ]
    .map(subject);
    subjects.sort_by_key(|subject| !subject.primary);
    subjects.into()
}

fn cells(scenario: &ScenarioFindings, ab_test: Option<&AbTest>) -> Vec<Cell> {
    let gateways: Vec<&VariantRow> = scenario
        .rows
        .iter()
        .filter(|row| row.kind != Variant::Direct)
        .collect();
    let mut cells = Vec::new();
    for subject in subjects(scenario, ab_test) {
        for (index, candidate) in gateways.iter().enumerate() {
            let is_compared = |other: &&&VariantRow| {
                ab_test.is_none_or(|it| it.has(&candidate.variant, &other.variant))
            };
            let others = gateways[index + 1..].iter().filter(is_compared);
            let is_judged = |it: &&AbTest| subject.primary && candidate.variant == it.candidate;
            let again = ab_test.filter(is_judged);
            let again = again.map(|it| gateways.iter().find(|row| row.variant == it.again));
            cells.extend(others.filter_map(|other| {
                let cell = cell(subject, candidate, other)?;
                let Some(again) = again else {
                    return Some(cell);
                };
                Some(cell.against_both(&self::cell(subject, candidate, again?)?))
            }));
        }
    }
    cells
}

/// Pairs two gateways on a metric. Returns `None` if neither has the metric, or if they have no
/// usable block in common and neither of them spoiled a block. Also returns `None` for a throughput
/// that is limited on either side, because it may not be the capacity of the gateway.
fn cell(subject: Subject, candidate: &VariantRow, baseline: &VariantRow) -> Option<Cell> {
    let [own, other] = [candidate, baseline].map(|row| Side {
        row,
        values: row.metric(subject.kind, subject.metric),
    });
    let phase = &own.values.or(other.values)?.phase;
    let mut known = [own, other].into_iter().filter_map(|side| side.values);
    let is_limited = known.any(|it| it.validity == Validity::Limited);
    if subject.metric == Metric::Throughput && is_limited {
        return None;
    }
    let both = Both::of(own, other, phase, subject.metric, subject.direction);
    (!both.blocks.is_empty() || !both.spoiled.is_empty()).then_some(())?;
    Some(Cell {
        found: ComparisonFindings {
            candidate: candidate.variant.clone(),
            baseline: baseline.variant.clone(),
            phase: phase.clone(),
            kind: subject.kind,
            metric: subject.metric,
            primary: subject.primary,
            direction: subject.direction,
            smallest_effect: SMALLEST_EFFECT,
            result: without_values(both.blocks.len()),
            blocks: both.blocks,
            validity: both.validity,
            spoiled: both.spoiled,
            text: String::new(),
        },
        pair: both.pair,
    })
}

fn without_values(blocks: usize) -> Comparison {
    Comparison {
        ratio: f64::NAN,
        interval: None,
        method: None,
        sign_flip_p: None,
        verdict: Verdict::TooFewBlocks { blocks },
    }
}

pub(crate) struct Both {
    /// Blocks in which both sides have a value that is not invalid.
    pub(crate) blocks: Vec<u32>,
    /// Worst validity among these blocks; `Invalid` if there are none.
    pub(crate) validity: Validity,
    pub(crate) spoiled: SpoiledBlocks,
    pub(crate) pair: Pair,
}

impl Both {
    pub(crate) fn of(
        own: Side,
        other: Side,
        phase: &str,
        metric: Metric,
        direction: Direction,
    ) -> Self {
        let both = match (own.values, other.values) {
            (Some(own), Some(other)) => paired(own, other),
            _ => Vec::new(),
        };
        let validities = both.iter().map(|(a, b)| a.validity.max(b.validity));
        Self {
            blocks: both.iter().map(|(value, _)| value.block).collect(),
            validity: validities.max().unwrap_or(Validity::Invalid),
            spoiled: spoiled::between(own, other, phase, metric.aspect()),
            pair: Pair {
                candidate: both.iter().map(|(own, _)| own.value).collect(),
                baseline: both.iter().map(|(_, other)| other.value).collect(),
                direction,
            },
        }
    }
}

pub(crate) fn paired<'a>(
    own: &'a MetricFindings,
    other: &'a MetricFindings,
) -> Vec<(&'a BlockValue, &'a BlockValue)> {
    let usable = |value: &&BlockValue| value.validity != Validity::Invalid;
    let partner = |block| {
        let mut values = other.blocks.iter().filter(usable);
        values.find(|value| value.block == block)
    };
    own.blocks
        .iter()
        .filter(usable)
        .filter_map(|value| Some((value, partner(value.block)?)))
        .collect()
}

impl Cell {
    /// Replaces the baseline's value in each block with the geometric mean of the values of the
    /// baseline's two processes, and drops blocks that lack either value. `second` compares the
    /// same candidate with the second process.
    fn against_both(mut self, second: &Self) -> Self {
        let (found, again) = (&mut self.found, &second.found);
        let partner = |block: &u32| again.blocks.iter().position(|it| it == block);
        let own = found.blocks.iter().enumerate();
        let places: Vec<(usize, usize)> = own
            .filter_map(|(place, block)| Some((place, partner(block)?)))
            .collect();
        let kept = |values: &[f64]| places.iter().map(|(own, _)| values[*own]).collect();
        let pair = Pair {
            candidate: kept(&self.pair.candidate),
            baseline: kept(&self.pair.baseline),
            direction: self.pair.direction,
        };
        found.blocks = places.iter().map(|(own, _)| found.blocks[*own]).collect();
        found.validity = found.validity.max(again.validity);
        let again = places.iter().map(|(_, other)| second.pair.baseline[*other]);
        let again: Vec<f64> = again.collect();
        self.pair = pair.with_again(&again).unwrap_or(pair);
        self
    }

    pub(crate) fn spoiled(&self) -> Spoiled {
        spoiled::counts(&self.found.spoiled)
    }

    /// The comparison with its verdict adjusted for spoiled blocks; `level` is the level of the
    /// sign test. Without values, only the spoiled blocks decide.
    pub(crate) fn weighed(&self, found: Option<Comparison>, level: f64) -> Option<Comparison> {
        let blocks = self.found.blocks.len();
        let mut found = found.or_else(|| (blocks == 0).then(|| without_values(blocks)))?;
        found.verdict = self.spoiled().weigh(found.verdict, blocks, level);
        Some(found)
    }

    pub(crate) fn findings(
        self,
        scenario: &ScenarioFindings,
        result: Comparison,
    ) -> ComparisonFindings {
        let mut found = ComparisonFindings {
            result,
            ..self.found
        };
        found.text = sentence(&found, scenario);
        found
    }
}

/// The comparison as a sentence, such as `nginx uses 0.61× the CPU of haproxy per request at 5,000
/// requests/s (0.58–0.64): better.`, followed by the blocks that count against a side.
fn sentence(of: &ComparisonFindings, scenario: &ScenarioFindings) -> String {
    let found = found(of, scenario);
    match spoiled::sentence(&of.spoiled, &of.candidate, &of.baseline, of.blocks.len()) {
        Some(spoiled) => format!("{found} {spoiled}"),
        None => found,
    }
}

fn found(of: &ComparisonFindings, scenario: &ScenarioFindings) -> String {
    let (ratio, interval) = ratio_and_interval(&of.result);
    let (candidate, baseline, title) = (&of.candidate, &of.baseline, of.metric.title());
    if let Verdict::TooFewBlocks { blocks } = of.result.verdict {
        return format!(
            "{candidate} and {baseline} have {} in common that can be used for the {title}; a verdict needs {MIN_BLOCKS}.",
            counted(blocks as u64, "block"),
        );
    }
    let is_limited = of.validity == Validity::Limited;
    let limited = if is_limited { ", limited" } else { "" };
    let verdict = match of.result.verdict {
        Verdict::Inconclusive { .. } if !of.spoiled.is_empty() => "inconclusive".into(),
        verdict => verdict_words(verdict, of.blocks.len()),
    };
    if of.blocks.is_empty() {
        return format!(
            "{candidate} and {baseline} have no block in common that can be used for the {title}: {verdict}."
        );
    }
    let interval = format!("{interval}{limited}");
    let interval = match interval.is_empty() {
        true => String::new(),
        false => format!(" ({})", interval.trim_start_matches(", ")),
    };
    format!("{}{interval}: {verdict}.", claim(of, scenario, &ratio))
}

fn claim(of: &ComparisonFindings, scenario: &ScenarioFindings, ratio: &str) -> String {
    let (own, other) = (&of.candidate, &of.baseline);
    let load = scenario.load(&of.phase);
    let at = load.map_or(String::new(), |load| format!(" at {load}"));
    match of.metric {
        Metric::Throughput => format!("{own} reaches {ratio} the throughput of {other}{at}"),
        Metric::GatewayCpuPerRequest => {
            format!("{own} uses {ratio} the CPU of {other} per request{at}")
        }
        metric => format!("{own} has {ratio} the {} of {other}{at}", metric.title()),
    }
}

pub(crate) fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// Reports whether a comparison is not settled: it is inconclusive or has too few blocks.
pub(crate) fn is_open(verdict: Verdict) -> bool {
    use Verdict::{Inconclusive, TooFewBlocks};
    matches!(verdict, Inconclusive { .. } | TooFewBlocks { .. })
}

/// The verdict in words. An inconclusive verdict is followed by the estimated number of further
/// blocks that would settle it, or by the remark that more blocks are unlikely to do so.
pub(crate) fn verdict_words(verdict: Verdict, blocks: usize) -> String {
    match verdict {
        Verdict::Better => "better".into(),
        Verdict::Worse => "worse".into(),
        Verdict::NoChange => "no change".into(),
        Verdict::Inconclusive {
            blocks_needed: Some(needed),
        } => format!(
            "inconclusive; about {} would settle it",
            counted(needed.saturating_sub(blocks) as u64, "more block")
        ),
        Verdict::Inconclusive {
            blocks_needed: None,
        } => "inconclusive, and more blocks are unlikely to settle it".into(),
        Verdict::TooFewBlocks { .. } => "too few blocks".into(),
    }
}
