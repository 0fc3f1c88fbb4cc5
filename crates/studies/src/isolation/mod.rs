//! Tests whether failing requests harm others: the good group runs next to failing groups, and next
//! to healthy ones.

mod chapter;
pub mod facts;
pub mod plan;

use std::collections::BTreeSet;

use gatebench_model::{Isolation, Variant};
use gatebench_report::format::{counted, grouped, ratio_and_interval};
use gatebench_report::{Unit, Validity};
use gatebench_stats::{Comparison, Direction, MIN_BLOCKS, Pair, Verdict, compare_all};
use gatebench_store::{GroupRecord, StoreError};

use crate::common::collect::Collected;
use crate::common::comparisons::{differs, is_open, rule};
use crate::common::facts::{Aspect, Decision, Sentence, SpoiledBlock};
use crate::common::groups::GroupOfTrial;
use crate::common::joined;
use crate::kind::{Analysed, StudyFindings, StudyKind};
use facts::{IsolationBlock, IsolationCounts, IsolationFindings, IsolationMeasure};

struct Subject {
    title: &'static str,
    unit: Unit,
    direction: Direction,
    decides: bool,
    aspect: Aspect,
    read: fn(&GroupOfTrial<'_>) -> Option<f64>,
}

const SUBJECTS: [Subject; 3] = [
    Subject {
        title: "median response time",
        unit: Unit::Nanoseconds,
        direction: Direction::LowerIsBetter,
        decides: true,
        aspect: Aspect::Latency,
        read: |it| latency(it, it.group.response.p50_ns),
    },
    Subject {
        title: "rate",
        unit: Unit::RequestsPerSecond,
        direction: Direction::HigherIsBetter,
        decides: true,
        aspect: Aspect::Throughput,
        read: |it| {
            let measure_ns = it.seen.phase.measure_ns;
            let usable = it.seen.throughput != Validity::Invalid && measure_ns > 0;
            usable.then(|| it.group.counts.completed_in_window as f64 * 1e9 / measure_ns as f64)
        },
    },
    Subject {
        title: "response time p99",
        unit: Unit::Nanoseconds,
        direction: Direction::LowerIsBetter,
        decides: false,
        aspect: Aspect::Latency,
        read: |it| latency(it, it.group.response.p99_ns),
    },
];

fn latency(of: &GroupOfTrial<'_>, value: Option<u64>) -> Option<f64> {
    value
        .filter(|_| of.seen.latency != Validity::Invalid)
        .map(|value| value as f64)
}

impl StudyKind for Vec<Isolation> {
    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let (plan, mut found) = (of.context.plan, Vec::new());
        for isolation in self {
            for variant in plan.variants.iter().map(Variant::label) {
                let sides = Sides::of(isolation, variant, of.collected);
                found.extend(sides.findings(isolation, variant, plan.seed));
            }
        }
        let headline = |it: &IsolationFindings| {
            Sentence::new(it.decision.tone(), &it.text, None, Some(&it.variant))
        };
        let headlines: Vec<Sentence> = found.iter().map(headline).collect();
        Ok(StudyFindings::new(found, headlines))
    }
}

/// The good group in each of the three scenarios.
struct Sides<'a> {
    failing: Vec<GroupOfTrial<'a>>,
    healthy: Vec<GroupOfTrial<'a>>,
    again: Vec<GroupOfTrial<'a>>,
    /// Blocks of the failing scenario that the gateway spoiled or may have spoiled.
    spoiled: Vec<SpoiledBlock>,
}

impl<'a> Sides<'a> {
    fn of(isolation: &Isolation, variant: &str, collected: &Collected<'a>) -> Self {
        let groups = &collected.groups;
        let side = |scenario: &str| groups.of_trials(scenario, variant, &isolation.group);
        let failing = (isolation.failing.clone(), variant.to_owned());
        let spoiled = collected.spoiled.get(&failing);
        Self {
            failing: side(&isolation.failing),
            healthy: side(&isolation.healthy),
            again: side(&isolation.again),
            spoiled: spoiled.cloned().unwrap_or_default(),
        }
    }

    /// Returns `None` if the failing side or the healthy side was never measured.
    fn findings(
        self,
        isolation: &Isolation,
        variant: &str,
        seed: u64,
    ) -> Option<IsolationFindings> {
        if self.failing.is_empty() || self.healthy.is_empty() {
            return None;
        }
        let (measures, spoiled) = (self.measures(variant, seed), self.first_spoiled());
        let mut found = IsolationFindings {
            variant: variant.to_owned(),
            scenario: isolation.failing.clone(),
            healthy: isolation.healthy.clone(),
            group: isolation.group.clone(),
            decision: Decision::Open,
            text: String::new(),
            next_to_failing: counts(&[&self.failing[..]]),
            next_to_healthy: counts(&[&self.healthy[..], &self.again[..]]),
            measures,
        };
        (found.decision, found.text) = decide(&found, spoiled);
        Some(found)
    }

    /// The failing side of the blocks that also have the second healthy run. The last block of an
    /// interrupted run may lack it.
    fn in_whole_blocks(&self) -> Vec<GroupOfTrial<'a>> {
        let blocks: BTreeSet<u32> = self.again.iter().map(|it| it.block).collect();
        let whole = self.failing.iter().filter(|it| blocks.contains(&it.block));
        whole.copied().collect()
    }

    /// The first deciding figure that the gateway spoiled next to failing requests, and the number
    /// of blocks in which it did. If these blocks were ignored, a gateway that stalls would seem
    /// to isolate errors.
    fn first_spoiled(&self) -> Option<(&'static str, usize)> {
        let deciding = SUBJECTS.iter().filter(|it| it.decides);
        let mut spoiled = deciding.map(|it| (it.title, self.blocks_spoiled(it)));
        spoiled.find(|(_, blocks)| *blocks > 0)
    }

    /// The number of blocks that lack this figure next to failing requests because the gateway
    /// spoiled it, although the first healthy run has it.
    fn blocks_spoiled(&self, subject: &Subject) -> usize {
        let has = |side: &[GroupOfTrial<'_>], block: u32| {
            let mut side = side.iter();
            side.any(|it| it.block == block && (subject.read)(it).is_some())
        };
        let concerning = self.spoiled.iter();
        let concerning = concerning.filter(|it| it.spoils.contains(&subject.aspect));
        let blocks: BTreeSet<u32> = concerning.map(|it| it.block).collect();
        let lost = |block: &&u32| !has(&self.failing, **block) && has(&self.healthy, **block);
        blocks.iter().filter(lost).count()
    }

    /// Judges all comparisons of the test together, so they share one error rate.
    fn measures(&self, variant: &str, seed: u64) -> Vec<IsolationMeasure> {
        let failing = self.in_whole_blocks();
        let blocks: Vec<_> = SUBJECTS
            .iter()
            .map(|subject| {
                let against = |other| paired(other, &self.healthy, subject.read);
                (subject, against(&failing), against(&self.again))
            })
            .collect();
        let pairs: Vec<Pair> = blocks
            .iter()
            .flat_map(|(subject, result, own)| [result, own].map(|it| pair(it, subject.direction)))
            .collect();
        let mut results = compare_all(&pairs, rule(seed)).into_iter();
        let mut measures = Vec::new();
        for (subject, blocks, _) in blocks {
            let (result, own) = (results.next().flatten(), results.next().flatten());
            if let Some(result) = result {
                measures.push(IsolationMeasure {
                    title: subject.title,
                    unit: subject.unit,
                    decides: subject.decides,
                    text: sentence(subject, variant, &result),
                    blocks,
                    result,
                    own,
                });
            }
        }
        measures
    }
}

fn pair(blocks: &[IsolationBlock], direction: Direction) -> Pair {
    Pair {
        candidate: blocks.iter().map(|it| it.failing).collect(),
        baseline: blocks.iter().map(|it| it.healthy).collect(),
        direction,
    }
}

fn paired(
    own: &[GroupOfTrial<'_>],
    other: &[GroupOfTrial<'_>],
    read: fn(&GroupOfTrial<'_>) -> Option<f64>,
) -> Vec<IsolationBlock> {
    let block = |it: &GroupOfTrial<'_>| {
        let twin = other.iter().find(|twin| twin.block == it.block)?;
        Some(IsolationBlock {
            block: it.block,
            failing: read(it)?,
            healthy: read(twin)?,
        })
    };
    own.iter().filter_map(block).collect()
}

fn counts(runs: &[&[GroupOfTrial<'_>]]) -> IsolationCounts {
    let groups = || runs.iter().copied().flatten();
    let total = |of: fn(&GroupRecord) -> u64| groups().map(|it| of(it.group)).sum();
    IsolationCounts {
        responses: total(|group| group.counts.completed),
        checks_failed: total(|group| group.failing_checks),
        errors: total(|group| group.counts.errors.values().sum()),
        dropped: total(|group| group.counts.dropped),
    }
}

fn sentence(subject: &Subject, variant: &str, result: &Comparison) -> String {
    let (ratio, interval) = ratio_and_interval(result);
    let within = match interval.is_empty() {
        true => String::new(),
        false => format!(" ({interval})"),
    };
    let relation = match result.verdict {
        Verdict::Better => "better than",
        Verdict::Worse => "worse than",
        Verdict::NoChange => "no different from",
        Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. } => "not distinguishable from",
    };
    let more = match result.verdict {
        Verdict::Inconclusive {
            blocks_needed: Some(blocks),
        } => format!("; about {blocks} blocks in total would settle it"),
        Verdict::TooFewBlocks { blocks } => {
            format!("; a verdict needs {MIN_BLOCKS} usable blocks; this run has {blocks}")
        }
        _ => String::new(),
    };
    format!(
        "Through {variant}, the good group's {} next to failing requests is {relation} that next to healthy ones: {ratio}{within}{more}.",
        subject.title
    )
}

/// `spoiled` names a deciding figure that the gateway spoiled next to failing requests, with the
/// number of blocks.
fn decide(found: &IsolationFindings, spoiled: Option<(&str, usize)>) -> (Decision, String) {
    harm(found).unwrap_or_else(|| slowness(found, spoiled))
}

/// The decision and its reason if requests of the good group failed; `None` if all succeeded.
fn harm(found: &IsolationFindings) -> Option<(Decision, String)> {
    let (variant, scenario) = (&found.variant, &found.scenario);
    let of = |counts: IsolationCounts| {
        format!(
            "{} of {} requests of '{}'",
            grouped(counts.harmed() as f64),
            grouped((counts.responses + counts.errors + counts.dropped) as f64),
            found.group
        )
    };
    if found.next_to_healthy.harmed() > 0 {
        let text = format!(
            "There is no verdict on isolation in {scenario}: {} failed through {variant} even when \
             no other group failed.",
            of(found.next_to_healthy)
        );
        return Some((Decision::Open, text));
    }
    (found.next_to_failing.harmed() > 0).then(|| {
        let text = format!(
            "{variant} does not isolate errors in {scenario}: {} failed next to failing requests, and none next to healthy ones.",
            of(found.next_to_failing)
        );
        (Decision::Worse, text)
    })
}

/// The decision based on the speed of the good group, if none of its requests failed, and the
/// reason.
fn slowness(found: &IsolationFindings, spoiled: Option<(&str, usize)>) -> (Decision, String) {
    let (variant, scenario) = (&found.variant, &found.scenario);
    let kept = format!(
        "all {} requests of '{}' got correct responses next to failing ones",
        grouped(found.next_to_failing.responses as f64),
        found.group
    );
    let deciding = || found.measures.iter().filter(|it| it.decides);
    if let Some(noise) = deciding().find(|it| it.own.as_ref().is_some_and(|it| differs(it.verdict)))
    {
        let text = format!(
            "In {scenario}, {kept}, but there is no verdict on their {}: it differs between two equal runs, so something \
             on this machine changed between them.",
            noise.title
        );
        return (Decision::Open, text);
    }
    if let Some(worse) = deciding().find(|it| it.result.verdict == Verdict::Worse) {
        let text = format!(
            "{variant} lets failing requests slow others down in {scenario}: {kept}. {}",
            worse.text
        );
        return (Decision::Worse, text);
    }
    if let Some(why) = unsettled(found, spoiled) {
        return (Decision::Open, format!("In {scenario}, {kept}{why}"));
    }
    let texts = joined(deciding().map(|it| &it.text), " ");
    let text = format!("{variant} isolates errors in {scenario}: {kept}. {texts}");
    (Decision::Fine, text)
}

/// The end of the sentence about a deciding figure without a verdict; `None` if every deciding
/// figure has one.
fn unsettled(found: &IsolationFindings, spoiled: Option<(&str, usize)>) -> Option<String> {
    if let Some((title, blocks)) = spoiled {
        return Some(format!(
            ", but there is no verdict on their {title}: {} itself spoiled, or may have spoiled, {} next to failing \
             requests.",
            found.variant,
            counted(blocks as u64, "block")
        ));
    }
    let deciding = || found.measures.iter().filter(|it| it.decides);
    if let Some(open) = deciding().find(|it| is_open(it.result.verdict)) {
        return Some(format!(". {}", open.text));
    }
    let has_verdict = |title: &str| deciding().any(|it| it.title == title);
    let mut subjects = SUBJECTS.iter().filter(|it| it.decides);
    let without = subjects.find(|it| !has_verdict(it.title))?;
    Some(format!(
        "; a verdict on their {} needs {MIN_BLOCKS} valid blocks.",
        without.title
    ))
}
