//! A comparison for machines and pull requests: JUnit XML, and a comment in Markdown.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    ComparisonFindings, Decision, DuelFindings, ScenarioFindings, Verdict,
};
use gatebench_analysis::words::{capitalised, counted, metric_title, ratio_and_interval};

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
    let mark = match duel.decision {
        Decision::Fine => "✅",
        Decision::Worse => "❌",
        Decision::Open => "❔",
    };
    let mut out = format!("### {mark} {}\n\n", markdown::escape(&duel.text));
    if let Some(caution) = &duel.caution {
        out.push_str(&format!("{}\n\n", markdown::escape(caution)));
    }
    let compared = |it: &&ScenarioFindings| !it.comparisons.is_empty();
    for scenario in findings.scenarios.iter().filter(compared) {
        out.push_str(&format!(
            "**{}**: {}\n\n",
            markdown::escape(&scenario.name),
            markdown::escape(&scenario.title)
        ));
        out.push_str("| | candidate ÷ baseline | verdict | baseline ÷ itself | blocks |\n|---|--:|---|--:|--:|\n");
        for case in of(scenario, &duel.candidate, &duel.baseline) {
            let own = of(scenario, &duel.baseline, &duel.again)
                .find(|it| it.metric == case.metric && it.phase == case.phase);
            out.push_str(&line(scenario, case, own));
        }
        out.push('\n');
    }
    let run = &findings.run;
    out + &format!(
        "<sub>{} against {}; bold decides. gatebench {} · {} · seed {}</sub>\n",
        markdown::escape(&duel.candidate),
        markdown::escape(&duel.baseline),
        markdown::escape(&run.gatebench),
        counted(u64::from(run.blocks_complete), "block"),
        run.seed
    )
}

fn line(
    scenario: &ScenarioFindings,
    case: &ComparisonFindings,
    own: Option<&ComparisonFindings>,
) -> String {
    let title = format!(
        "{} at {}",
        capitalised(metric_title(case.metric)),
        verdicts::load(scenario, case)
    );
    let title = markdown::escape(&title);
    let title = if case.primary {
        format!("**{title}**")
    } else {
        title
    };
    let told = |it: &ComparisonFindings| {
        let (ratio, interval) = ratio_and_interval(&it.result);
        format!("{ratio} ({interval})")
    };
    format!(
        "| {title} | {} | {} | {} | {} |\n",
        told(case),
        verdicts::word(case.result.verdict),
        own.map(told).unwrap_or_default(),
        verdicts::blocks(case)
    )
}
