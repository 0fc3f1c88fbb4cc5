//! Sentences about comparisons between runs.

use gatebench_report::Validity;
use gatebench_report::format::{counted, listed, quantity, ratio_and_interval};
use gatebench_stats::{Comparison, MIN_BLOCKS, MIN_RUNS, Verdict};

use super::RunSummary;
use super::cells::Side;
use super::compare::facts::{CellFindings, CompareMode, Control, Place, RunDifference, Weight};
use crate::common::comparisons::{is_open, verdict_words};
use crate::common::facts::Decision;

/// The maximum factor by which a baseline run's number of blocks may differ from the candidate's
/// before the report adds a caution.
const BLOCKS_ALIKE_MAX: f64 = 1.5;

pub(super) const ONE_RUN_EACH: &str = "There is one run on each side: the intervals account for \
    differences between blocks, but not for those between two runs on this machine. To accept or \
    reject changes in CI, set a baseline of several runs: gatebench baseline set RUN RUN RUN.";

/// The comparison as a sentence: `proxy-json, mine: added latency p99 at 5,000 requests/s is 26.1
/// µs instead of 24.0 µs, 1.09× (1.06–1.12): worse.`
pub(super) fn cell(
    place: &Place,
    result: &Comparison,
    mode: CompareMode,
    own: &Side,
    other: &Side,
) -> String {
    let (ratio, interval) = ratio_and_interval(result);
    let what = place.metric.title();
    let head = format!(
        "{}, {}: {what} at {} is {} instead of {}, {ratio}",
        place.scenario,
        place.gateway,
        place.load,
        quantity(own.estimate.median, place.unit),
        quantity(other.estimate.median, place.unit),
    );
    if let Verdict::TooFewBlocks { blocks } = result.verdict {
        let needs = match mode {
            CompareMode::Blocks => {
                format!(
                    "a verdict needs {MIN_BLOCKS} usable blocks of each run, and one run has only {blocks}"
                )
            }
            CompareMode::Runs => {
                format!(
                    "a verdict needs {MIN_RUNS} usable runs in the baseline, which has {blocks}"
                )
            }
        };
        return format!("{head}; {needs}.");
    }
    let is_limited = own.validity.max(other.validity) == Validity::Limited;
    let limited = if is_limited { ", limited" } else { "" };
    format!(
        "{head} ({interval}{limited}): {}.{}",
        verdict(result.verdict, mode, own, other),
        spoiled(own, other)
    )
}

/// The sentence about spoiled blocks, such as ` The gateway itself spoiled, or may have spoiled,
/// 3 blocks of this run; a spoiled block counts against the side to which it belongs.`; empty if no
/// block was spoiled.
fn spoiled(own: &Side, other: &Side) -> String {
    let of = |side: &Side, whose: &str| {
        let blocks = counted(side.spoiled as u64, "block");
        (side.spoiled > 0).then(|| format!("{blocks} {whose}"))
    };
    let parts = [of(own, "of this run"), of(other, "of the baseline")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(
            " The gateway itself spoiled, or may have spoiled, {}; a spoiled block counts \
             against the side to which it belongs.",
            listed(&parts)
        ),
    }
}

fn verdict(verdict: Verdict, mode: CompareMode, own: &Side, other: &Side) -> String {
    match (verdict, mode) {
        (Verdict::Inconclusive { .. }, _) if own.spoiled + other.spoiled > 0 => {
            "inconclusive".into()
        }
        (Verdict::Inconclusive { .. }, CompareMode::Runs) => {
            "within the variation among the baseline's runs, which exceeds the smallest difference that matters"
                .into()
        }
        (verdict, _) => verdict_words(verdict, own.values.len().min(other.values.len())),
    }
}

/// The sentence for a place whose gateway spoiled blocks and left nothing to compare.
pub(super) fn lost(place: &Place) -> String {
    format!(
        "{} itself spoiled, or may have spoiled, blocks of {} in this run, and no usable block is left to \
         compare; the run's report states the reason.",
        place.gateway, place.scenario
    )
}

pub(super) fn cannot_be_compared(differences: &[RunDifference]) -> String {
    let forbids = differences.iter().filter(|it| it.weight == Weight::Forbids);
    let parts = forbids.map(|it| {
        let [baseline, candidate] = [&it.baseline, &it.candidate].map(|it| match it.is_empty() {
            true => "not on record",
            false => it,
        });
        format!("{} ({baseline} and {candidate})", it.what)
    });
    let parts: Vec<String> = parts.collect();
    format!(
        "The runs cannot be compared: they differ in {}. Measure both on one machine, with the same cores and load generator.",
        listed(&parts)
    )
}

pub(super) fn accounting_assumed(fact: &str) -> String {
    format!(
        "The runs do not record {fact}: their CPU times are compared as if they were the same quantity, because \
         no difference in kernel.release is recorded."
    )
}

pub(super) fn no_cpu_time(fact: &str, [baseline, candidate]: &[String; 2]) -> String {
    format!(
        "There is no verdict on CPU time: {fact} is {baseline} in the baseline and {candidate} in \
         the candidate, so CPU time may not be the same quantity in both. Measure both again on \
         the same kernel, or let another metric decide (--metric)."
    )
}

pub(super) fn machine_changed(control: &CellFindings) -> String {
    let what = match control.place.control {
        Some(Control::Direct) => "the direct variant has no gateway".to_owned(),
        _ => format!("{} is the same in both runs", control.place.gateway),
    };
    format!(
        "There is no verdict: {what}, but a difference was found: {} The machine changed between the runs.",
        control.text
    )
}

pub(super) fn decided(decision: Decision, judged: &[&CellFindings]) -> String {
    let wanted = |it: &&&CellFindings| match decision {
        Decision::Worse => it.result.verdict == Verdict::Worse,
        Decision::Open => is_open(it.result.verdict),
        Decision::Fine => true,
    };
    let Some(why) = judged.iter().find(wanted).map(|it| &it.text) else {
        return "There is no verdict: the runs have nothing in common that can be compared.".into();
    };
    let unchanged = judged.iter().all(|it| it.place.control.is_some());
    let is_no_change = |it: &&CellFindings| it.result.verdict == Verdict::NoChange;
    let word = match decision {
        Decision::Worse => "Worse",
        Decision::Open => "Not settled",
        Decision::Fine if unchanged => "No difference, and the gateways are the same",
        Decision::Fine if judged.iter().all(is_no_change) => "No difference",
        Decision::Fine => "Better, or as good",
    };
    format!("{word}: {why}")
}

/// The sentence for baseline runs whose number of blocks differs too much from the candidate's;
/// `None` if there is no such run. Runs with more blocks vary less, so the interval would be too
/// narrow for a candidate with fewer blocks.
pub(super) fn unlike_in_blocks(candidate: &RunSummary, runs: &[&RunSummary]) -> Option<String> {
    let blocks = |run: &RunSummary| f64::from(run.findings.run.blocks_complete.max(1));
    let own = blocks(candidate);
    let unlike = |run: &&&RunSummary| {
        let factor = blocks(run) / own;
        factor.max(1.0 / factor) > BLOCKS_ALIKE_MAX
    };
    let count = runs.iter().filter(unlike).count();
    (count > 0).then(|| {
        format!(
            "{} of the baseline {} a number of blocks that differs from the candidate's ({own}): only runs with \
             similar numbers of blocks are comparable.",
            counted(count as u64, "run"),
            if count == 1 { "has" } else { "have" }
        )
    })
}
