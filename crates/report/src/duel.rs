//! A comparison for machines and pull requests: JUnit XML, and a comment in Markdown.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{ComparisonFindings, DuelFindings, ScenarioFindings, Verdict};
use gatebench_analysis::words::{capitalised, counted, metric_title};

use crate::chapter::{Block, Chapter, Line, Lines, Part, Text};
use crate::svg::escape;
use crate::{markdown, verdicts};

/// The verdicts as JUnit XML: a suite for each scenario, a case for each metric. Worse is a failure of what
/// decides; what is not settled is skipped. Empty suites where the run was not made for a comparison.
///
/// The form is that of Apache Ant's JUnit task, as CI systems read it.
pub fn junit(findings: &Findings) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gatebench ab\">\n",
    );
    if let Some(duel) = &findings.duel {
        for scenario in &findings.scenarios {
            out.push_str(&suite(duel, scenario));
        }
    }
    out + "</testsuites>\n"
}

fn suite(duel: &DuelFindings, scenario: &ScenarioFindings) -> String {
    let cases: Vec<&ComparisonFindings> = of(scenario, &duel.candidate, &duel.baseline).collect();
    let count =
        |wanted: fn(&ComparisonFindings) -> bool| cases.iter().filter(|it| wanted(it)).count();
    let mut out = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
        escape(&scenario.name),
        cases.len(),
        count(is_failure),
        count(is_open)
    );
    for case in &cases {
        out.push_str(&format!(
            "    <testcase classname=\"{}\" name=\"{}\">\n",
            escape(&format!("{}.{}", scenario.name, case.phase)),
            escape(metric_title(case.metric))
        ));
        let text = escape(&case.text);
        out.push_str(&if is_failure(case) {
            format!("      <failure message=\"{text}\"/>\n")
        } else if is_open(case) {
            format!("      <skipped message=\"{text}\"/>\n")
        } else {
            format!("      <system-out>{text}</system-out>\n")
        });
        out.push_str("    </testcase>\n");
    }
    out + "  </testsuite>\n"
}

/// Only what decides fails: the others are told.
fn is_failure(case: &ComparisonFindings) -> bool {
    case.primary && case.result.verdict == Verdict::Worse
}

fn is_open(case: &ComparisonFindings) -> bool {
    matches!(
        case.result.verdict,
        Verdict::Inconclusive { .. } | Verdict::TooFewBlocks { .. }
    )
}

fn of<'a>(
    scenario: &'a ScenarioFindings,
    candidate: &'a str,
    baseline: &'a str,
) -> impl Iterator<Item = &'a ComparisonFindings> {
    let cells = scenario.comparisons.iter();
    cells.filter(move |it| it.candidate == candidate && it.baseline == baseline)
}

/// The verdict as Markdown for a pull request: the answer first, then a table for each scenario with the
/// baseline beside itself.
pub fn comment(findings: &Findings) -> String {
    let Some(duel) = &findings.duel else {
        return String::new();
    };
    let mark = verdicts::mark(duel.decision);
    let caution = duel.caution.iter().map(|it| Block::sentence(&**it));
    let compared = findings.scenarios.iter();
    let compared = compared.filter(|it| !it.comparisons.is_empty());
    let chapter = Chapter {
        heading: format!("{mark} {}", duel.text),
        blocks: caution
            .chain(compared.flat_map(|it| table(duel, it)))
            .collect(),
        ..Chapter::default()
    };
    let run = &findings.run;
    markdown::chapter(&chapter)
        + &format!(
            "<sub>{} against {}; bold decides. gatebench {} · {} · seed {}</sub>\n",
            markdown::escape(&duel.candidate),
            markdown::escape(&duel.baseline),
            markdown::escape(&run.gatebench),
            counted(u64::from(run.blocks_complete), "block"),
            run.seed
        )
}

/// The comparisons of a scenario, each with that of the baseline with itself.
fn table(duel: &DuelFindings, scenario: &ScenarioFindings) -> [Block; 2] {
    let told = |it: &ComparisonFindings| verdicts::ratio(&it.result);
    let line = |case: &ComparisonFindings| {
        let mut own = of(scenario, &duel.baseline, &duel.again);
        let own = own.find(|it| it.metric == case.metric && it.phase == case.phase);
        let title = capitalised(metric_title(case.metric));
        Line {
            name: format!("{title} at {}", verdicts::load(scenario, case)),
            decides: case.primary,
            cells: vec![
                told(case),
                verdicts::word(case.result.verdict).to_owned(),
                own.map(told).unwrap_or_default(),
                verdicts::blocks(case),
            ],
            ..Line::default()
        }
    };
    let cases = of(scenario, &duel.candidate, &duel.baseline);
    let lines = Lines {
        label: scenario.name.clone(),
        first: "",
        heads: &[
            "candidate ÷ baseline",
            "verdict",
            "baseline ÷ itself",
            "blocks",
        ],
        lines: cases.map(line).collect(),
    };
    let title = format!(": {}", scenario.title);
    [
        Block::sentence(Text::with_strong("", &scenario.name, &title)),
        Part::Lines(lines).into(),
    ]
}
