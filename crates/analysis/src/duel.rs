//! A run that is made for a comparison: what decides is judged after every block, by intervals that hold at
//! all looks together.

use gatebench_model::{DecisiveMetric, Duel};
use gatebench_stats::{Comparison, MIN_BLOCKS, Sequential, Verdict};
use gatebench_store::{Run, StoreError};

use crate::collect::Collected;
use crate::comparisons::{Cell, SMALLEST_EFFECT, cells_of_run};
use crate::context::Context;
use crate::findings::{
    ComparisonFindings, Decision, DuelFindings, Metric, ScenarioFindings, Sentence, Tone,
};
use crate::rows;
use crate::words::metric_title;

/// Share of runs in which the verdict of what decides may be wrong.
const ALPHA: f64 = 0.05;

/// The level of the sign test of blocks that a side spoiled. It is taken from what error spending
/// leaves of [`ALPHA`], and holds at all looks together.
const SPOILED_ALPHA: f64 = ALPHA / 10.0;

/// What is said of the control.
const CONTROLLED: &str = " Where both give the upstream the same work, what the upstream's CPU time for it says of the machine \
                          in each trial is taken out.";

/// The metric that decides.
pub(crate) fn metric(duel: &Duel) -> Metric {
    decided_by(duel.metric)
}

/// The metric that a word for what decides means.
pub(crate) fn decided_by(word: DecisiveMetric) -> Metric {
    match word {
        DecisiveMetric::Cpu => Metric::GatewayCpuPerRequest,
        DecisiveMetric::Throughput => Metric::Throughput,
        DecisiveMetric::AddedP50 => Metric::AddedP50,
        DecisiveMetric::AddedP99 => Metric::AddedP99,
        DecisiveMetric::Memory => Metric::GatewayRssAnonMax,
    }
}

/// The comparison of what decides, at this look.
pub(crate) fn look(duel: &Duel, cell: &Cell) -> Option<Comparison> {
    let plan = Sequential::plan(duel.blocks_max as usize, ALPHA)?;
    let look = match &cell.control {
        Some(control) => plan.look_beside(&cell.pair, control, SMALLEST_EFFECT),
        None => plan.look(&cell.pair, SMALLEST_EFFECT),
    };
    cell.weighed(look.map(|look| look.comparison), SPOILED_ALPHA)
}

/// Whether what decides is settled in every scenario of a run that may be unfinished; never in a run that is
/// not made for a comparison.
///
/// # Errors
/// [`StoreError`] naming the file, where histograms or series cannot be read.
pub fn is_settled(run: &Run) -> Result<bool, StoreError> {
    let context = Context::of(run);
    let Some(duel) = &context.plan.duel else {
        return Ok(false);
    };
    let collected = Collected::from_trials(&context)?;
    let scenarios = rows::of_run(&context, &collected);
    let cells = cells_of_run(&context, &scenarios);
    let deciding = cells
        .iter()
        .filter(|(_, cell)| cell.decides() && cell.is_of(&duel.candidate, &duel.baseline));
    let mut settled = 0;
    for (_, cell) in deciding {
        match look(duel, cell) {
            Some(found) if is_final(found.verdict) => settled += 1,
            _ => return Ok(false),
        }
    }
    Ok(settled == scenarios.len())
}

/// The answer, which opens the report.
pub(crate) fn headline(found: &DuelFindings) -> Sentence {
    Sentence {
        text: found.text.clone(),
        tone: match found.decision {
            Decision::Fine => Tone::Plain,
            Decision::Open => Tone::Caution,
            Decision::Worse => Tone::Alarm,
        },
        scenario: None,
        variant: None,
    }
}

/// What the verdict rests on.
pub(crate) fn note(context: &Context) -> Option<String> {
    let duel = context.plan.duel.as_ref()?;
    Some(format!(
        "{} and {} are the same gateway: what differs between them is the noise of this machine. The {} decides, judged after \
         every block by repeated confidence intervals for at most {} blocks: whenever it ends, its verdict is wrong in at most {} of \
         100 runs.{}",
        duel.baseline,
        duel.again,
        metric_title(metric(duel)),
        duel.blocks_max,
        ALPHA * 100.0,
        match metric(duel) {
            Metric::GatewayCpuPerRequest => CONTROLLED,
            _ => "",
        }
    ))
}

fn is_final(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Better | Verdict::Worse | Verdict::NoChange
    )
}

/// What the comparison comes to; none where the run was not made for one.
pub(crate) fn findings(context: &Context, scenarios: &[ScenarioFindings]) -> Option<DuelFindings> {
    let duel = context.plan.duel.as_ref()?;
    let judged = deciding(scenarios, &duel.candidate, &duel.baseline);
    let own = deciding(scenarios, &duel.baseline, &duel.again);
    let (decision, text) = decide(duel, &judged, &own);
    Some(DuelFindings {
        candidate: duel.candidate.clone(),
        baseline: duel.baseline.clone(),
        again: duel.again.clone(),
        decision,
        text,
    })
}

/// The comparison of these two by what decides, in each scenario.
fn deciding<'a>(
    scenarios: &'a [ScenarioFindings],
    candidate: &str,
    baseline: &str,
) -> Vec<Option<&'a ComparisonFindings>> {
    let is_it = |it: &&ComparisonFindings| {
        it.primary && it.candidate == candidate && it.baseline == baseline
    };
    let of_scenario = |scenario: &'a ScenarioFindings| scenario.comparisons.iter().find(is_it);
    scenarios.iter().map(of_scenario).collect()
}

/// The decision over all scenarios, and why.
fn decide(
    duel: &Duel,
    judged: &[Option<&ComparisonFindings>],
    own: &[Option<&ComparisonFindings>],
) -> (Decision, String) {
    let verdict = |it: &Option<&ComparisonFindings>| it.map(|it| it.result.verdict);
    let differs =
        |it: &&ComparisonFindings| matches!(it.result.verdict, Verdict::Better | Verdict::Worse);
    if let Some(noise) = own.iter().flatten().find(|it| differs(it)) {
        let text = format!(
            "Nothing may be said: {} and {} are the same gateway, and yet: {} Something on this machine changed meanwhile.",
            duel.baseline, duel.again, noise.text
        );
        return (Decision::Open, text);
    }
    let (candidate, baseline) = (&duel.candidate, &duel.baseline);
    let (decision, word) = if judged.iter().any(|it| verdict(it) == Some(Verdict::Worse)) {
        (Decision::Worse, "is worse than")
    } else if judged.iter().any(|it| !verdict(it).is_some_and(is_final)) {
        (Decision::Open, "cannot be told from")
    } else if judged
        .iter()
        .all(|it| verdict(it) == Some(Verdict::NoChange))
    {
        (Decision::Fine, "is no different from")
    } else {
        (Decision::Fine, "is better than, or as good as,")
    };
    let why = judged
        .iter()
        .flatten()
        .filter(|it| decision != Decision::Open || !is_final(it.result.verdict))
        .map(|it| it.text.as_str())
        .next()
        .map_or_else(
            || format!("a verdict needs {MIN_BLOCKS} blocks."),
            str::to_owned,
        );
    (decision, format!("{candidate} {word} {baseline}: {why}"))
}
