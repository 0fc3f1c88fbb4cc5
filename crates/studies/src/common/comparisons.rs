//! Compares every pair of gateways, metric by metric, over the blocks in which both were measured.

use gatebench_model::{AbTest, Variant};
use gatebench_report::Validity;
use gatebench_report::format::{counted, ratio_and_interval};
use gatebench_stats::{Comparison, Direction, MIN_BLOCKS, Pair, Spoiled, Verdict};

use super::context::Context;
use super::facts::{
    BlockValue, ComparisonFindings, Metric, MetricFindings, PhaseKind, ScenarioFindings,
    SpoiledBlocks, VariantRow,
};
use super::metrics::decided_by;
use super::spoiled;
use super::spoiled::Side;
use super::trials::blocks_complete;

/// The smallest effect that matters, in either direction.
pub(crate) const SMALLEST_EFFECT: f64 = 0.02;

/// Every pair of gateways in every scenario, with the scenario's index; empty if the run has too
/// few blocks for a verdict.
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

/// Two gateways and a metric, before they are judged.
pub(crate) struct Cell {
    candidate: String,
    baseline: String,
    subject: Subject,
    phase: String,
    blocks: Vec<u32>,
    validity: Validity,
    spoiled: SpoiledBlocks,
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

/// The subjects of comparisons within a run. An A/B test compares more metrics, and defines the
/// deciding one itself.
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

/// All subjects by which gateways can be compared, the deciding one first. CPU per request depends
/// on the load, so it is compared in a phase side by side if there is one, and otherwise at a fixed
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

/// None if the two have no block in common and spoiled none, or if something else limited a
/// throughput, which then does not distinguish the gateways.
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
    let both = match (own.values, other.values) {
        (Some(own), Some(other)) => paired(own, other),
        _ => Vec::new(),
    };
    let spoiled = spoiled::between(own, other, phase, subject.metric.aspect());
    (!both.is_empty() || !spoiled.is_empty()).then_some(())?;
    Some(Cell {
        candidate: candidate.variant.clone(),
        baseline: baseline.variant.clone(),
        subject,
        phase: phase.clone(),
        blocks: both.iter().map(|(value, _)| value.block).collect(),
        validity: worst(&both).unwrap_or(Validity::Invalid),
        spoiled,
        pair: pair_of(&both, subject.direction),
    })
}

/// The worst validity of paired values.
pub(crate) fn worst(both: &[(&BlockValue, &BlockValue)]) -> Option<Validity> {
    both.iter().map(|(a, b)| a.validity.max(b.validity)).max()
}

/// The paired values in the form that the statistics need.
pub(crate) fn pair_of(both: &[(&BlockValue, &BlockValue)], direction: Direction) -> Pair {
    Pair {
        candidate: both.iter().map(|(own, _)| own.value).collect(),
        baseline: both.iter().map(|(_, other)| other.value).collect(),
        direction,
    }
}

/// The values of blocks in which neither side is invalid.
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
    /// Replaces the baseline's value by the mean of its two processes, in the blocks that have
    /// both. `second` compares the same candidate with the second process.
    fn against_both(self, second: &Self) -> Self {
        let partner = |block: &u32| second.blocks.iter().position(|it| it == block);
        let own = self.blocks.iter().enumerate();
        let places: Vec<(usize, usize)> = own
            .filter_map(|(place, block)| Some((place, partner(block)?)))
            .collect();
        let kept = |values: &[f64]| places.iter().map(|(own, _)| values[*own]).collect();
        let pair = Pair {
            candidate: kept(&self.pair.candidate),
            baseline: kept(&self.pair.baseline),
            direction: self.pair.direction,
        };
        let again = places.iter().map(|(_, other)| second.pair.baseline[*other]);
        let again: Vec<f64> = again.collect();
        Self {
            blocks: places.iter().map(|(own, _)| self.blocks[*own]).collect(),
            validity: self.validity.max(second.validity),
            pair: pair.beside_again(&again).unwrap_or(pair),
            ..self
        }
    }

    /// Reports whether it compares the deciding metric.
    pub(crate) fn decides(&self) -> bool {
        self.subject.primary
    }

    /// The blocks that the two sides spoiled.
    pub(crate) fn spoiled(&self) -> Spoiled {
        spoiled::counts(&self.spoiled)
    }

    /// The comparison with its verdict adjusted for spoiled blocks; `level` is that of their sign
    /// test. Without values, only the spoiled blocks decide.
    pub(crate) fn weighed(&self, found: Option<Comparison>, level: f64) -> Option<Comparison> {
        let blocks = self.blocks.len();
        let of_none = || Comparison {
            ratio: f64::NAN,
            interval: None,
            method: None,
            sign_flip_p: None,
            verdict: Verdict::TooFewBlocks { blocks },
        };
        let mut found = found.or_else(|| (blocks == 0).then(of_none))?;
        found.verdict = self.spoiled().weigh(found.verdict, blocks, level);
        Some(found)
    }

    pub(crate) fn is_of(&self, candidate: &str, baseline: &str) -> bool {
        self.candidate == candidate && self.baseline == baseline
    }

    pub(crate) fn findings(
        self,
        scenario: &ScenarioFindings,
        result: Comparison,
    ) -> ComparisonFindings {
        let text = self.sentence(scenario, &result);
        ComparisonFindings {
            candidate: self.candidate,
            baseline: self.baseline,
            phase: self.phase,
            kind: self.subject.kind,
            metric: self.subject.metric,
            primary: self.subject.primary,
            direction: self.subject.direction,
            smallest_effect: SMALLEST_EFFECT,
            blocks: self.blocks,
            validity: self.validity,
            spoiled: self.spoiled,
            result,
            text,
        }
    }

    /// The comparison in a sentence, `nginx uses 0.61× the CPU of haproxy per request at 5,000
    /// requests/s (0.58–0.64): better.`, followed by the blocks that count against a side.
    fn sentence(&self, scenario: &ScenarioFindings, result: &Comparison) -> String {
        let found = self.found(scenario, result);
        let (candidate, baseline, usable) = (&self.candidate, &self.baseline, self.blocks.len());
        match spoiled::sentence(&self.spoiled, candidate, baseline, usable) {
            Some(spoiled) => format!("{found} {spoiled}"),
            None => found,
        }
    }

    fn found(&self, scenario: &ScenarioFindings, result: &Comparison) -> String {
        let (ratio, interval) = ratio_and_interval(result);
        let title = self.subject.metric.title();
        if let Verdict::TooFewBlocks { blocks } = result.verdict {
            return format!(
                "{} and {} have {} in common that can be used for the {title}; a verdict needs {MIN_BLOCKS}.",
                self.candidate,
                self.baseline,
                counted(blocks as u64, "block"),
            );
        }
        let is_limited = self.validity == Validity::Limited;
        let limited = if is_limited { ", limited" } else { "" };
        let verdict = match result.verdict {
            Verdict::Inconclusive { .. } if !self.spoiled.is_empty() => "inconclusive".into(),
            verdict => verdict_words(verdict, self.blocks.len()),
        };
        if self.blocks.is_empty() {
            return format!(
                "{} and {} have no block in common that can be used for the {title}: {verdict}.",
                self.candidate, self.baseline,
            );
        }
        let interval = format!("{interval}{limited}");
        let interval = match interval.is_empty() {
            true => String::new(),
            false => format!(" ({})", interval.trim_start_matches(", ")),
        };
        format!("{}{interval}: {verdict}.", self.claim(scenario, &ratio))
    }

    fn claim(&self, scenario: &ScenarioFindings, ratio: &str) -> String {
        let (own, other) = (&self.candidate, &self.baseline);
        let load = scenario.load(&self.phase);
        let at = load.map_or(String::new(), |load| format!(" at {load}"));
        match self.subject.metric {
            Metric::Throughput => {
                format!("{own} reaches {ratio} the throughput of {other}{at}")
            }
            Metric::GatewayCpuPerRequest => {
                format!("{own} uses {ratio} the CPU of {other} per request{at}")
            }
            metric => format!("{own} has {ratio} the {} of {other}{at}", metric.title()),
        }
    }
}

/// Reports whether the verdict calls the two sides different.
pub(crate) fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// Reports whether more data could still give a verdict.
pub(crate) fn is_open(verdict: Verdict) -> bool {
    use Verdict::{Inconclusive, TooFewBlocks};
    matches!(verdict, Inconclusive { .. } | TooFewBlocks { .. })
}

/// The verdict; an open one is followed by the number of blocks that would settle it.
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
