//! The report of an A/B test for a CI system and for a pull request.

use gatebench_report::chapter::{
    Block, Case, Cases, Chapter, Document, Forms, Head, Line, Lines, Outcome, Part, Report, Text,
};
use gatebench_report::format::{capitalized, counted};
use gatebench_report::verdicts;
use gatebench_stats::Verdict;

use super::facts::AbTestFindings;
use crate::common::facts::{ComparisonFindings, Decision, RunFacts, ScenarioFindings};

/// A comment on a pull request. The decision comes first, followed by the caution, if any, and a
/// table for each scenario with comparisons. The table also compares the baseline with itself.
pub struct Comment<'a> {
    pub(crate) ab_test: &'a AbTestFindings,
    pub(crate) run: &'a RunFacts,
    pub(crate) scenarios: &'a [ScenarioFindings],
}

impl Report for Comment<'_> {
    fn document(&self, form: Forms) -> Document {
        let Self { ab_test, run, .. } = self;
        let mark = ab_test.decision.mark();
        let caution = ab_test.caution.iter().map(|it| Block::sentence(&**it));
        let compared = self.scenarios.iter();
        let compared = compared.filter(|it| !it.comparisons.is_empty());
        let response = Block::heading(format!("{mark} {}", ab_test.text));
        let tables = compared.flat_map(|it| table(ab_test, it));
        let chapter = Chapter::of(
            std::iter::once(response)
                .chain(caution)
                .chain(tables)
                .collect(),
        );
        let foot = format!(
            "{} against {}; the metric in bold decides. gatebench {} · {} · seed {}",
            ab_test.candidate,
            ab_test.baseline,
            run.gatebench,
            counted(u64::from(run.blocks_complete), "block"),
            run.seed
        );
        Document {
            brand: "ab".to_owned(),
            title: run.title.clone(),
            chapters: vec![chapter.only(form)],
            foot: foot.into(),
            gatebench: run.gatebench.clone(),
            ..Document::default()
        }
    }
}

/// The comparisons of the candidate as test results, with a suite for each scenario and a case for
/// each metric at each load. A case whose verdict on the deciding metric is *worse* fails if the
/// decision is also *worse*, and is skipped otherwise. A comparison that is inconclusive or has too
/// few blocks is skipped as well. If there is no decision, a skipped case states the reason.
pub(crate) fn cases(ab_test: &AbTestFindings, scenarios: &[ScenarioFindings]) -> Chapter {
    let suites = scenarios.iter().map(|it| suite(ab_test, it));
    Chapter::of(suites.chain(undecided(ab_test)).collect())
}

fn undecided(ab_test: &AbTestFindings) -> Option<Block> {
    let case = || Case {
        class: "ab".to_owned(),
        name: "decision".to_owned(),
        outcome: Outcome::Skipped,
        text: ab_test.text.clone(),
    };
    (ab_test.decision == Decision::Open).then(|| {
        Block::from(Part::Cases(Cases {
            suite: "decision".to_owned(),
            cases: vec![case()],
        }))
    })
}

fn suite(ab_test: &AbTestFindings, scenario: &ScenarioFindings) -> Block {
    let case = |found: &ComparisonFindings| Case {
        class: format!("{}.{}", scenario.name, found.phase),
        name: found.metric.title().to_owned(),
        outcome: outcome(found, ab_test.decision),
        text: found.text.clone(),
    };
    let cases = of(scenario, &ab_test.candidate, &ab_test.baseline).map(case);
    Block::from(Part::Cases(Cases {
        suite: scenario.name.clone(),
        cases: cases.collect(),
    }))
}

fn outcome(found: &ComparisonFindings, decision: Decision) -> Outcome {
    match found.result.verdict {
        Verdict::Worse if found.primary && decision == Decision::Worse => Outcome::Failed,
        Verdict::Worse if found.primary => Outcome::Skipped,
        Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. } => Outcome::Skipped,
        Verdict::Better | Verdict::Worse | Verdict::NoChange => Outcome::Passed,
    }
}

fn of<'a>(
    scenario: &'a ScenarioFindings,
    candidate: &'a str,
    baseline: &'a str,
) -> impl Iterator<Item = &'a ComparisonFindings> {
    let cells = scenario.comparisons.iter();
    cells.filter(move |it| it.is_of(candidate, baseline))
}

/// The candidate's comparisons in a scenario, each next to the baseline's comparison with itself.
fn table(ab_test: &AbTestFindings, scenario: &ScenarioFindings) -> [Block; 2] {
    let ratio = |it: &ComparisonFindings| verdicts::ratio(&it.result);
    let line = |case: &ComparisonFindings| {
        let mut own = of(scenario, &ab_test.baseline, &ab_test.again);
        let own = own.find(|it| it.metric == case.metric && it.phase == case.phase);
        let title = capitalized(case.metric.title());
        let name = format!("{title} at {}", case.load(scenario));
        let cells = vec![
            ratio(case).into(),
            verdicts::word(case.result.verdict).into(),
            own.map(ratio).unwrap_or_default().into(),
            case.counted_blocks().into(),
        ];
        Line {
            decides: case.primary,
            ..Line::new(Text::from(name).strong_if(case.primary), cells)
        }
    };
    let heads = Head::row("|> candidate ÷ baseline|> verdict|> baseline ÷ itself|> blocks");
    let cases = of(scenario, &ab_test.candidate, &ab_test.baseline);
    let lines = Lines::new(&scenario.name, heads, cases.map(line));
    let title = format!(": {}", scenario.title);
    [
        Block::sentence(Text::with_strong("", &scenario.name, &title)),
        lines.into(),
    ]
}
