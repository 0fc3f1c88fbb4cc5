//! Compares a run with another run, or with a baseline of several.

mod chapters;
pub mod facts;

use gatebench_model::DecisiveMetric;
use gatebench_report::Tone;
use gatebench_report::format::counted;
use gatebench_stats::{
    Comparison, Estimate, MIN_RUNS, Sides, Spoiled, SpoiledBy, Verdict, compare_runs,
    compare_with_runs,
};

use super::cells::{Candidate, Side, geometric_mean};
use super::differences::{CpuTime, between, cpu_time, is_same_phase, is_same_scenario};
use super::{RunSummary, cells, text};
use crate::common::comparisons::{SMALLEST_EFFECT, differs, is_open};
use crate::common::facts::{Aspect, Decision, Sentence};
use crate::common::metrics::decided_by;
use facts::{CellFindings, CompareFindings, CompareMode, Control, RunDifference, Weight};

/// Compares two runs by Welch's method, which uses the blocks of both. The intervals do not account
/// for the variation between runs, and the result states this.
pub fn compare(
    baseline: &RunSummary,
    candidate: &RunSummary,
    metric: DecisiveMetric,
) -> CompareFindings {
    let differences = between(candidate, baseline);
    let found = match forbidden(&differences) {
        true => Vec::new(),
        false => cells::of(candidate, baseline, metric),
    };
    let cpu = cpu_time(candidate, baseline);
    let may_be_compared = |own: &Candidate| cpu.allows(own.place.metric);
    let both = found.into_iter().filter(may_be_compared).filter_map(|own| {
        Some(Both {
            other: cells::side(baseline, &own.place)?,
            own,
            run_error: 0.0,
        })
    });
    let judged = judge(both.collect(), CompareMode::Blocks);
    let notes = vec![caution(text::ONE_RUN_EACH)];
    whole(candidate, &[baseline], metric, judged, differences, notes)
}

/// Compares a run with several others. A run of the baseline is left out, and a note names it, if
/// it differs from the candidate in the machine, the load generator or the number of the gateway's
/// cores, or if both record their accounting of CPU time and it differs.
pub fn compare_with_baseline(
    baseline: &[RunSummary],
    candidate: &RunSummary,
    metric: DecisiveMetric,
) -> CompareFindings {
    let (usable, other): (Vec<_>, Vec<_>) = baseline
        .iter()
        .map(|run| (run, between(candidate, run)))
        .partition(|(_, differences)| !forbidden(differences));
    let mut notes: Vec<Sentence> = other.iter().map(|(run, why)| left_out(run, why)).collect();
    let runs: Vec<&RunSummary> = usable.iter().map(|(run, _)| *run).collect();
    if !runs.is_empty() && runs.len() < MIN_RUNS {
        notes.push(caution(&format!(
            "The baseline has {} that can be compared; {MIN_RUNS} are needed to measure how much \
             runs vary.",
            counted(runs.len() as u64, "run")
        )));
    }
    let unlike = text::unlike_in_blocks(candidate, &runs);
    notes.extend(unlike.as_deref().map(caution));
    // The run that was named last is assumed to be the latest, and so the closest to the present
    // state of the machine.
    let latest = usable.last().or(other.last());
    let differences = latest.map_or_else(Vec::new, |(_, differences)| differences.clone());
    let found = runs.last().map(|run| cells::of(candidate, run, metric));
    let both = found.into_iter().flatten();
    let both = both.filter_map(|own| among(own, &runs, candidate));
    let judged = judge(both.collect(), CompareMode::Runs);
    let shown: Vec<&RunSummary> = match runs.is_empty() {
        true => baseline.iter().collect(),
        false => runs,
    };
    let mut found = whole(candidate, &shown, metric, judged, differences, notes);
    found.mode = CompareMode::Runs;
    found
}

/// The values of a metric on both sides. The baseline has a value for each block, or for each run.
struct Both {
    own: Candidate,
    other: Side,
    /// The result of [`run_error`]; 0 if the baseline has a value for each block.
    run_error: f64,
}

/// Pairs the candidate's geometric mean with that of each run that has the same measurement.
fn among(mut own: Candidate, runs: &[&RunSummary], candidate: &RunSummary) -> Option<Both> {
    let place = &own.place;
    let same = |run: &&&RunSummary| {
        is_same_scenario(candidate, run, &place.scenario)
            && is_same_phase(candidate, run, &place.scenario, &place.phase)
            && cpu_time(candidate, run).allows(place.metric)
    };
    let same = runs.iter().filter(same);
    let sides: Vec<Side> = same.filter_map(|run| cells::side(run, place)).collect();
    let values = sides.iter().map(|side| geometric_mean(&side.values));
    let values: Vec<f64> = values.collect();
    let run_error = run_error(sides.iter().chain([&own.side]));
    own.side.values = vec![geometric_mean(&own.side.values)];
    let other = Side {
        estimate: Estimate::of_blocks(&values)?,
        values,
        validity: sides.iter().map(|side| side.validity).max()?,
        spoiled: sides.iter().map(|side| side.spoiled).sum(),
    };
    Some(Both {
        own,
        other,
        run_error,
    })
}

/// The root mean square of the runs' standard errors, each computed from the logarithms of the
/// run's blocks.
fn run_error<'a>(sides: impl Iterator<Item = &'a Side>) -> f64 {
    let square = |side: &Side| -> Option<f64> {
        let logs: Vec<f64> = side.values.iter().map(|value| value.ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (logs.len() > 1).then(|| squares / (count - 1.0) / count)
    };
    let known: Vec<f64> = sides.filter_map(square).collect();
    (known.iter().sum::<f64>() / known.len().max(1) as f64).sqrt()
}

/// Judges all pairs. The deciding metrics form one family and the other metrics another; the
/// controls form separate families.
fn judge(all: Vec<Both>, mode: CompareMode) -> Vec<CellFindings> {
    let family = |it: &Both| (it.own.place.control.is_some(), !it.own.place.primary);
    let mut results: Vec<Option<Comparison>> = vec![None; all.len()];
    for wanted in [(false, false), (false, true), (true, false), (true, true)] {
        let members: Vec<usize> = (0..all.len())
            .filter(|at| family(&all[*at]) == wanted)
            .collect();
        let sides: Vec<Sides> = members.iter().map(|at| sides(&all[*at])).collect();
        let judged = match mode {
            CompareMode::Blocks => compare_runs(&sides, SMALLEST_EFFECT),
            CompareMode::Runs => compare_with_runs(&sides, SMALLEST_EFFECT),
        };
        for (at, result) in members.into_iter().zip(judged) {
            results[at] = result;
        }
    }
    let judged = all.into_iter().zip(results);
    judged
        .filter_map(|(both, result)| Some(cell(both, result?, mode)))
        .collect()
}

fn sides(both: &Both) -> Sides {
    Sides {
        baseline: both.other.values.clone(),
        candidate: both.own.side.values.clone(),
        run_error: both.run_error,
        direction: both.own.place.direction,
    }
}

fn cell(both: Both, mut result: Comparison, mode: CompareMode) -> CellFindings {
    let Candidate { place, side } = both.own;
    // The blocks of two runs were not measured at the same time, so a sign test cannot pair them.
    let by = |side: &Side| SpoiledBy {
        alone: 0,
        all: side.spoiled,
    };
    let spoiled = Spoiled {
        candidate: by(&side),
        baseline: by(&both.other),
    };
    result.verdict = spoiled.weigh(result.verdict, side.values.len(), 0.0);
    let text = text::cell(&place, &result, mode, &side, &both.other);
    CellFindings {
        place,
        smallest_effect: SMALLEST_EFFECT,
        validity: side.validity.max(both.other.validity),
        candidate: side.estimate,
        baseline: both.other.estimate,
        result,
        text,
    }
}

fn whole(
    candidate: &RunSummary,
    baseline: &[&RunSummary],
    metric: DecisiveMetric,
    cells: Vec<CellFindings>,
    differences: Vec<RunDifference>,
    mut notes: Vec<Sentence>,
) -> CompareFindings {
    let (mut decision, mut text) = decide(&cells, &differences);
    if !forbidden(&differences) {
        let (cautions, refused) = cpu_cautions(candidate, baseline);
        notes.extend(cautions.iter().map(|it| caution(it)));
        let is_of_cpu = decided_by(metric).aspect() == Some(Aspect::CpuPerRequest);
        if let Some(why) = refused.filter(|_| is_of_cpu) {
            (decision, text) = (Decision::Open, why);
        }
    }
    let latest = baseline.last().filter(|_| !forbidden(&differences));
    let lost = latest.map(|latest| cells::lost(candidate, latest, metric));
    for place in lost.into_iter().flatten() {
        let note = text::lost(&place);
        if decision == Decision::Fine {
            (decision, text) = (Decision::Open, format!("Not settled: {note}"));
        }
        notes.push(caution(&note));
    }
    CompareFindings {
        candidate: candidate.line(),
        baseline: baseline.iter().map(|run| run.line()).collect(),
        mode: CompareMode::Blocks,
        metric: decided_by(metric),
        decision,
        text,
        notes,
        differences,
        cells,
    }
}

/// The notes on the accounting of CPU time. If CPU time cannot be compared, the second value is the
/// reason.
fn cpu_cautions(candidate: &RunSummary, baseline: &[&RunSummary]) -> (Vec<String>, Option<String>) {
    let (mut cautions, mut unlike) = (Vec::new(), Vec::new());
    for run in baseline {
        match cpu_time(candidate, run) {
            CpuTime::Alike => {}
            CpuTime::Assumed(fact) => cautions.push(text::accounting_assumed(fact)),
            CpuTime::Unlike(fact, values) => unlike.push((run, fact, values)),
        }
    }
    cautions.dedup();
    if unlike.len() == baseline.len()
        && let Some((_, fact, values)) = unlike.pop()
    {
        let why = text::no_cpu_time(fact, &values);
        return (vec![why.clone()], Some(why));
    }
    cautions.extend(unlike.iter().map(|(run, fact, [baseline, candidate])| {
        format!(
            "{} is left out of the baseline for CPU time: {fact} is {baseline} in that run and {candidate} in \
             the candidate.",
            run.name
        )
    }));
    (cautions, None)
}

/// Judges the machine before the gateways: if it has changed, the gateways get no verdict.
fn decide(cells: &[CellFindings], differences: &[RunDifference]) -> (Decision, String) {
    if forbidden(differences) {
        return (Decision::Open, text::cannot_be_compared(differences));
    }
    let primary = cells.iter().filter(|it| it.place.primary);
    let of_kind = |control: Option<Control>| {
        let cells = primary.clone();
        let cells = cells.filter(|it| it.place.control == control);
        cells.collect::<Vec<_>>()
    };
    let mut controls = primary.clone().filter(|it| it.place.control.is_some());
    if let Some(noise) = controls.find(|it| differs(it.result.verdict)) {
        return (Decision::Open, text::machine_changed(noise));
    }
    let mut judged = of_kind(None);
    if judged.is_empty() {
        // No changed gateway has a value of the deciding metric, so the unchanged gateways are
        // judged.
        judged = of_kind(Some(Control::SameGateway));
    }
    let decision = if judged.iter().any(|it| it.result.verdict == Verdict::Worse) {
        Decision::Worse
    } else if judged.is_empty() || judged.iter().any(|it| is_open(it.result.verdict)) {
        Decision::Open
    } else {
        Decision::Fine
    };
    (decision, text::decided(decision, &judged))
}

fn forbidden(differences: &[RunDifference]) -> bool {
    differences.iter().any(|it| it.weight == Weight::Forbids)
}

fn left_out(run: &RunSummary, differences: &[RunDifference]) -> Sentence {
    caution(&format!(
        "{} is left out of the baseline. {}",
        run.name,
        text::cannot_be_compared(differences)
    ))
}

fn caution(text: &str) -> Sentence {
    Sentence::new(Tone::Caution, text, None, None)
}
