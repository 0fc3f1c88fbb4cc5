//! A comparison of two: for a CI system and for a pull request.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{AbTestFindings, ComparisonFindings, ScenarioFindings, Verdict};
use gatebench_analysis::format::{capitalised, counted, metric_title};

use crate::chapter::{
    Block, Case, Cases, Chapter, Document, Forms, Head, Line, Lines, Outcome, Part, Report, Text,
};
use crate::verdicts;

/// The verdict for a pull request: the answer first, then a table for each scenario with the
/// baseline next to itself. Empty if the run was not made for a comparison.
pub struct Comment<'a>(pub &'a Findings);

impl Report for Comment<'_> {
    fn document(&self, form: Forms) -> Document {
        let Some(ab_test) = &self.0.ab_test else {
            return Document::default();
        };
        let mark = verdicts::mark(ab_test.decision);
        let caution = ab_test.caution.iter().map(|it| Block::sentence(&**it));
        let compared = self.0.scenarios.iter();
        let compared = compared.filter(|it| !it.comparisons.is_empty());
        let answer = Block::heading(format!("{mark} {}", ab_test.text));
        let tables = compared.flat_map(|it| table(ab_test, it));
        let chapter = Chapter {
            blocks: std::iter::once(answer)
                .chain(caution)
                .chain(tables)
                .collect(),
            ..Chapter::default()
        };
        let run = &self.0.run;
        let foot = format!(
            "{} against {}; bold decides. gatebench {} · {} · seed {}",
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

/// The comparisons as tests: a suite for each scenario, a case for each metric. Worse is a failure
/// of what decides; what is not settled is skipped. Empty if the run was not made for a comparison.
pub fn cases(findings: &Findings) -> Chapter {
    let ab_test = findings.ab_test.iter();
    let suites = ab_test.flat_map(|ab_test| findings.scenarios.iter().map(|it| suite(ab_test, it)));
    Chapter {
        blocks: suites.collect(),
        ..Chapter::default()
    }
}

fn suite(ab_test: &AbTestFindings, scenario: &ScenarioFindings) -> Block {
    let case = |found: &ComparisonFindings| Case {
        class: format!("{}.{}", scenario.name, found.phase),
        name: metric_title(found.metric).to_owned(),
        outcome: outcome(found),
        text: found.text.clone(),
    };
    let cases = of(scenario, &ab_test.candidate, &ab_test.baseline).map(case);
    Block::from(Part::Cases(Cases {
        suite: scenario.name.clone(),
        cases: cases.collect(),
    }))
}

/// Only what decides fails: the others are reported.
fn outcome(found: &ComparisonFindings) -> Outcome {
    match found.result.verdict {
        Verdict::Worse if found.primary => Outcome::Failed,
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
    cells.filter(move |it| it.candidate == candidate && it.baseline == baseline)
}

/// The comparisons of a scenario, each with that of the baseline with itself.
fn table(ab_test: &AbTestFindings, scenario: &ScenarioFindings) -> [Block; 2] {
    let ratio = |it: &ComparisonFindings| verdicts::ratio(&it.result);
    let line = |case: &ComparisonFindings| {
        let mut own = of(scenario, &ab_test.baseline, &ab_test.again);
        let own = own.find(|it| it.metric == case.metric && it.phase == case.phase);
        let title = capitalised(metric_title(case.metric));
        let name = format!("{title} at {}", verdicts::load(scenario, case));
        Line {
            name: Text::from(name).strong_if(case.primary),
            decides: case.primary,
            cells: vec![
                ratio(case).into(),
                verdicts::word(case.result.verdict).into(),
                own.map(ratio).unwrap_or_default().into(),
                verdicts::blocks(case).into(),
            ],
            ..Line::default()
        }
    };
    let heads = [
        "candidate ÷ baseline",
        "verdict",
        "baseline ÷ itself",
        "blocks",
    ];
    let cases = of(scenario, &ab_test.candidate, &ab_test.baseline);
    let lines = Lines {
        label: scenario.name.clone(),
        heads: Head::numbers("", heads),
        lines: cases.map(line).collect(),
        ..Lines::default()
    };
    let title = format!(": {}", scenario.title);
    [
        Block::sentence(Text::with_strong("", &scenario.name, &title)),
        lines.into(),
    ]
}
