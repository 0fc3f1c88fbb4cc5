//! A/B tests: the deciding metric is judged after every block. Each judgment is a look; the
//! intervals are valid across all looks.

pub mod chapter;
pub mod facts;
pub mod plan;

use std::path::Path;

use gatebench_model::{AbTest, DecisiveMetric, Plan, Variant};
use gatebench_report::format::{counted, listed};
use gatebench_report::{Tone, Validity};
use gatebench_stats::{Comparison, MIN_BLOCKS, Sequential, Verdict};
use gatebench_store::{Run, StoreError};

use crate::common::collect::Collected;
use crate::common::comparisons::{Cell, SMALLEST_EFFECT, cells_of_run, differs, is_open};
use crate::common::context::Context;
use crate::common::facts::{
    ComparisonFindings, Decision, Metric, PhaseKind, RowStatus, ScenarioFindings, Sentence,
    VariantRow,
};
use crate::common::metrics::decided_by;
use crate::common::summary_table;
use crate::common::trials::blocks_complete;
use crate::kind::{Analysed, Next, StudyFindings, StudyKind};
use facts::AbTestFindings;

/// If the gateways are equal, the largest share of runs in which the deciding verdict is wrong in
/// any scenario. The share of runs that find the baseline different from itself has the same bound.
const ALPHA: f64 = 0.05;

/// The part of a scenario's error rate that is spent on the sign test of spoiled blocks, which is
/// valid across all looks. The looks at the metric spend the rest.
const SPOILED_PART: f64 = 0.1;

/// A difference below this may be due solely to the different code layouts of two binaries
/// (Mytkowicz et al., ASPLOS 2009).
const LAYOUT_MAX: f64 = 0.03;

pub(crate) fn look(plan: &Plan, ab_test: &AbTest, cell: &Cell) -> Option<Comparison> {
    let scenarios = plan.scenarios.len();
    let look = looks(ab_test, scenarios)?.look(&cell.pair, SMALLEST_EFFECT);
    let spoiled = SPOILED_PART * share_of_each(scenarios);
    cell.weighed(look.map(|look| look.comparison), spoiled)
}

/// Plans the looks at one scenario, whose error rate is an equal share of [`ALPHA`] (Bonferroni).
fn looks(ab_test: &AbTest, scenarios: usize) -> Option<Sequential> {
    let share = (1.0 - SPOILED_PART) * share_of_each(scenarios);
    Sequential::plan(ab_test.blocks_max as usize, share)
}

fn share_of_each(scenarios: usize) -> f64 {
    ALPHA / scenarios.max(1) as f64
}

fn is_settled(run: &Run, ab_test: &AbTest) -> Result<bool, StoreError> {
    let context = Context::of(run);
    let collected = Collected::from_trials(&context)?;
    let scenarios = summary_table::of_run(&context, &collected);
    let cells = cells_of_run(&context, &scenarios);
    let deciding = cells.iter().filter(|(_, cell)| {
        let found = &cell.found;
        found.primary && found.is_of(&ab_test.candidate, &ab_test.baseline)
    });
    let mut settled = 0;
    for (_, cell) in deciding {
        match look(context.plan, ab_test, cell) {
            Some(found) if !is_open(found.verdict) => settled += 1,
            _ => return Ok(false),
        }
    }
    Ok(settled == scenarios.len())
}

impl StudyKind for AbTest {
    /// Ends the deciding blocks once the deciding metric is settled in every scenario.
    fn after_block(&self, dir: &Path, done: u32, next: u32) -> Result<Next, StoreError> {
        if !self.decides_in(next) || !is_settled(&Run::open(dir)?, self)? {
            return Ok(Next::Continue);
        }
        let blocks = counted(done.into(), "block");
        Ok(Next::Stop(format!("Settled after {blocks}.")))
    }

    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let found = findings(of.context, self, of.scenarios);
        let headlines = headlines(&found);
        Ok(StudyFindings::new(found, headlines))
    }

    fn note(&self, context: &Context) -> Option<String> {
        let percent = |share: f64| format!("{}", (share * 1e4).round() / 100.0);
        let scenarios = context.plan.scenarios.len();
        let over_all = match scenarios {
            0 | 1 => String::new(),
            _ => format!(
                " Both rates apply to all {scenarios} scenarios together: each scenario has an equal share, {} % (Bonferroni).",
                percent(share_of_each(scenarios))
            ),
        };
        Some(format!(
            "{baseline} and {again} are the same gateway: the difference between them is the noise \
             of this machine. The {metric} decides. {candidate} is compared with the mean of the \
             two, after every block, by repeated confidence intervals for at most {blocks} blocks. \
             If the gateways are equal, at most {alpha} % of runs find a difference, no matter \
             when they end, and at most {alpha} % have no verdict because the baseline differs \
             from itself.{over_all}",
            baseline = self.baseline,
            again = self.again,
            metric = decided_by(self.metric).title(),
            candidate = self.candidate,
            blocks = self.blocks_max,
            alpha = percent(ALPHA),
        ))
    }
}

fn headlines(found: &AbTestFindings) -> Vec<Sentence> {
    let caution = found.caution.iter().map(|text| (text, Tone::Caution));
    let all = std::iter::once((&found.text, found.decision.tone())).chain(caution);
    let sentence = |(text, tone): (&String, Tone)| Sentence::new(tone, text, None, None);
    all.map(sentence).collect()
}

/// A sentence for each difference between two variants that are the same gateway. The difference
/// makes the scenario's other verdicts on the same metric doubtful.
pub(crate) fn differences_from_itself(
    context: &Context,
    scenario: &ScenarioFindings,
) -> Vec<Sentence> {
    // An A/B test judges this difference itself.
    if context.plan.study.ab().is_some() {
        return Vec::new();
    }
    let is_itself = |it: &&ComparisonFindings| {
        let pair = [&it.candidate, &it.baseline].map(|label| context.plan.variant(label));
        differs(it.result.verdict)
            && matches!(pair, [Some(one), Some(other)] if is_same(one, other))
    };
    let sentence = |it: &ComparisonFindings| {
        let text = format!(
            "{} and {} are the same gateway, but a difference was found: {} Something on this machine changed during the \
             run; do not use this scenario's other verdicts on the {}, and repeat the run on a quieter machine.",
            it.candidate,
            it.baseline,
            it.text,
            it.metric.title()
        );
        Sentence::new(Tone::Alarm, text, Some(&scenario.name), None)
    };
    let found = scenario.comparisons.iter().filter(is_itself);
    found.map(sentence).collect()
}

/// Reports whether gatebench starts both variants from the same folder with the same settings.
fn is_same(one: &Variant, other: &Variant) -> bool {
    let of = |variant: &Variant| match variant {
        Variant::Gateway { folder, setup, .. } => Some((folder.clone(), setup.clone())),
        Variant::Direct | Variant::Attached { .. } => None,
    };
    of(one).is_some_and(|one| of(other) == Some(one))
}

fn findings(context: &Context, ab_test: &AbTest, scenarios: &[ScenarioFindings]) -> AbTestFindings {
    let judged = deciding(scenarios, &ab_test.candidate, &ab_test.baseline);
    let own = deciding(scenarios, &ab_test.baseline, &ab_test.again);
    let blocks = blocks_complete(context) as usize;
    let (decision, text) = decide(ab_test, scenarios, blocks, &judged, &own);
    AbTestFindings {
        candidate: ab_test.candidate.clone(),
        baseline: ab_test.baseline.clone(),
        again: ab_test.again.clone(),
        decision,
        text,
        caution: layout(context, ab_test, &judged).filter(|_| decision != Decision::Open),
    }
}

/// A caution if a difference in speed is so small that the layout of the two programs may cause it.
/// All blocks start the same two programs, so more blocks do not average out the effect.
fn layout(
    context: &Context,
    ab_test: &AbTest,
    judged: &[Option<&ComparisonFindings>],
) -> Option<String> {
    let known = &context.run.manifest().gateways;
    let program = |label: &String| known.get(label).map(|it| it.sha256.as_str());
    let programs = program(&ab_test.candidate).zip(program(&ab_test.baseline));
    let are_two = programs.is_some_and(|(one, other)| one != other);
    let is_small = |it: &ComparisonFindings| {
        differs(it.result.verdict) && (it.result.ratio - 1.0).abs() < LAYOUT_MAX
    };
    let takes_time = ab_test.metric != DecisiveMetric::Memory;
    let mut judged = judged.iter().copied().flatten();
    (takes_time && are_two && judged.any(is_small)).then(|| {
        format!(
            "The difference is below {:.0} %, and {} and {} are two binaries: the layout of their code alone can change \
             speed by 1 to 3 %, equally in every block. Build both again with a different layout (link order, alignment), or find \
             the cause with `gatebench flame`, before you act on the difference.",
            100.0 * LAYOUT_MAX,
            ab_test.candidate,
            ab_test.baseline
        )
    })
}

/// The comparison of these two variants on the deciding metric, in each scenario; `None` for a
/// scenario without such a comparison.
fn deciding<'a>(
    scenarios: &'a [ScenarioFindings],
    candidate: &str,
    baseline: &str,
) -> Vec<Option<&'a ComparisonFindings>> {
    let is_it = |it: &&ComparisonFindings| it.primary && it.is_of(candidate, baseline);
    let of_scenario = |scenario: &'a ScenarioFindings| scenario.comparisons.iter().find(is_it);
    scenarios.iter().map(of_scenario).collect()
}

/// The decision across all scenarios, with its reason. `blocks` is the number of complete blocks.
fn decide(
    ab_test: &AbTest,
    scenarios: &[ScenarioFindings],
    blocks: usize,
    judged: &[Option<&ComparisonFindings>],
    own: &[Option<&ComparisonFindings>],
) -> (Decision, String) {
    let verdict = |it: &Option<&ComparisonFindings>| it.map(|it| it.result.verdict);
    if let Some(noise) = own.iter().flatten().find(|it| differs(it.result.verdict)) {
        let text = format!(
            "There is no verdict: {} and {} are the same gateway, but a difference was found: {} Something on \
             this machine changed during the run.",
            ab_test.baseline, ab_test.again, noise.text
        );
        return (Decision::Open, text);
    }
    let (candidate, baseline) = (&ab_test.candidate, &ab_test.baseline);
    let (decision, word) = if judged.iter().any(|it| verdict(it) == Some(Verdict::Worse)) {
        (Decision::Worse, "is worse than")
    } else if judged.iter().any(|it| verdict(it).is_none_or(is_open)) {
        (Decision::Open, "cannot be distinguished from")
    } else if judged
        .iter()
        .all(|it| verdict(it) == Some(Verdict::NoChange))
    {
        (Decision::Fine, "is no different from")
    } else {
        (Decision::Fine, "is better than, or as good as,")
    };
    // The reason is the first comparison for which this is true. For a *fine* decision without a
    // comparison that is *better*, it is the first of all comparisons.
    let decided = |it: &ComparisonFindings| match decision {
        Decision::Worse => it.result.verdict == Verdict::Worse,
        Decision::Fine => it.result.verdict == Verdict::Better,
        Decision::Open => is_open(it.result.verdict),
    };
    let all = || scenarios.iter().zip(judged.iter().copied());
    let found = || all().filter_map(|(scenario, it)| Some((&scenario.name, it?)));
    let first = found()
        .find(|(_, it)| decided(it))
        .or_else(|| found().next().filter(|_| decision == Decision::Fine));
    let why = match first {
        Some((name, it)) if scenarios.len() > 1 => format!("in {name}, {}", it.text),
        Some((_, it)) => it.text.clone(),
        None => {
            let mut without = all().filter(|(_, it)| it.is_none());
            let reason = without.find_map(|(scenario, _)| not_compared(ab_test, scenario, blocks));
            reason.unwrap_or_else(|| format!("a verdict needs {MIN_BLOCKS} blocks."))
        }
    };
    (decision, format!("{candidate} {word} {baseline}: {why}"))
}

/// The reason why a scenario has no comparison on the deciding metric; `None` if it merely has too
/// few blocks.
fn not_compared(ab_test: &AbTest, scenario: &ScenarioFindings, blocks: usize) -> Option<String> {
    let labels = [&ab_test.candidate, &ab_test.baseline, &ab_test.again];
    let rows = || labels.iter().filter_map(move |label| scenario.row(label));
    let is_limited = |row: &VariantRow| {
        let found = row.metric(PhaseKind::Closed, Metric::Throughput);
        found.is_some_and(|it| it.validity == Validity::Limited)
    };
    let excluded = rows().find_map(|row| match &row.status {
        RowStatus::NotSupported { policies } => Some(format!(
            "{} does not support {}",
            row.variant,
            listed(policies)
        )),
        RowStatus::Failed => Some(format!("every trial of {} failed", row.variant)),
        RowStatus::Measured | RowStatus::Missing => None,
    });
    let why = match excluded {
        Some(excluded) => excluded,
        None if blocks < MIN_BLOCKS => return None,
        None if decided_by(ab_test.metric) == Metric::Throughput && rows().any(is_limited) => {
            "something other than the gateways limited the throughput".into()
        }
        None => format!(
            "{} and {} have no block in common that can be used for the {}",
            ab_test.candidate,
            ab_test.baseline,
            decided_by(ab_test.metric).title()
        ),
    };
    Some(format!("in {}, {why}.", scenario.name))
}

#[cfg(test)]
mod tests {
    use gatebench_stats::simulate::Noise;
    use gatebench_stats::{Direction, Pair};

    use super::*;

    const BLOCKS: u32 = 20;
    const RUNS: u32 = 300;

    fn ab_test() -> AbTest {
        AbTest {
            candidate: "mine".into(),
            baseline: "nginx".into(),
            again: "nginx-2".into(),
            metric: DecisiveMetric::Cpu,
            blocks_max: BLOCKS,
            decides_first: false,
        }
    }

    /// Block values whose logarithms have this standard deviation.
    fn values(noise: &mut Noise, deviation: f64) -> Vec<f64> {
        let block = |_| (deviation * noise.normal()).exp();
        (0..BLOCKS).map(block).collect()
    }

    /// Reports whether any look at these values calls the two variants different.
    fn differs(looks: &Sequential, pair: &Pair) -> bool {
        (MIN_BLOCKS..=BLOCKS as usize).any(|blocks| {
            let so_far = Pair {
                baseline: pair.baseline[..blocks].to_vec(),
                candidate: pair.candidate[..blocks].to_vec(),
                direction: pair.direction,
            };
            let verdict = looks
                .look(&so_far, SMALLEST_EFFECT)
                .unwrap()
                .comparison
                .verdict;
            matches!(verdict, Verdict::Better | Verdict::Worse)
        })
    }

    /// Simulates runs of equal gateways over this number of scenarios. Returns the share of runs
    /// that call the candidate different from the baseline in any scenario, and the share that call
    /// the baseline different from itself in any scenario.
    fn wrong(scenarios: usize) -> (f64, f64) {
        let looks = looks(&ab_test(), scenarios).unwrap();
        let mut noise = Noise::seeded(7);
        let (mut verdicts, mut vetoes) = (0, 0);
        for _ in 0..RUNS {
            let (mut verdict, mut veto) = (false, false);
            for _ in 0..scenarios {
                let [candidate, baseline, again] = [(); 3].map(|()| values(&mut noise, 0.06));
                let pair = |candidate: &[f64], baseline: &[f64]| Pair {
                    candidate: candidate.to_vec(),
                    baseline: baseline.to_vec(),
                    direction: Direction::LowerIsBetter,
                };
                let judged = pair(&candidate, &baseline).with_again(&again).unwrap();
                verdict |= differs(&looks, &judged);
                veto |= differs(&looks, &pair(&baseline, &again));
            }
            verdicts += u32::from(verdict);
            vetoes += u32::from(veto);
        }
        let share = |count| f64::from(count) / f64::from(RUNS);
        (share(verdicts), share(vetoes))
    }

    #[test]
    fn ten_scenarios_have_the_error_rate_of_one() {
        for scenarios in [1, 10] {
            let (verdicts, vetoes) = wrong(scenarios);
            // For a share of 5 % in 300 runs, two standard errors are 2.5 percentage points.
            assert!(
                verdicts <= 0.075,
                "wrong verdicts: {verdicts} ({scenarios} scenarios)"
            );
            assert!(
                vetoes <= 0.075,
                "wrong vetoes: {vetoes} ({scenarios} scenarios)"
            );
        }
    }
}
