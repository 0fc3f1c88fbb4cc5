//! A comparison of runs as Markdown, for a pull request or a wiki.

use gatebench_analysis::findings::CompareFindings;

use super::{explanation, role, row, scenarios, shown, title, weight};
use crate::markdown::escape;
use crate::verdicts::mark;

/// Writes the comparison: the answer first.
pub fn render(found: &CompareFindings) -> String {
    let mut out = format!("### {} {}\n\n", mark(found.decision), escape(&found.text));
    out.push_str(&format!("{}.\n\n", escape(&title(found))));
    for note in &found.notes {
        out.push_str(&format!("> {}\n\n", escape(&note.text)));
    }
    for scenario in scenarios(found) {
        out.push_str(&format!("**{}**\n\n", escape(scenario)));
        out.push_str(
            "| gateway | metric | baseline | candidate | ratio | interval | verdict | blocks |\n",
        );
        out.push_str("|:--|:--|--:|--:|--:|--:|:--|--:|\n");
        for cell in found.cells.iter().filter(|cell| cell.scenario == scenario) {
            let words = row(cell, found.mode);
            let metric = format!("{} at {}", words.metric, words.load);
            let [gateway, metric] = [words.gateway, metric].map(|text| escape(&text));
            let metric = if cell.primary {
                format!("**{metric}**")
            } else {
                metric
            };
            let role = match role(cell.control) {
                "" => String::new(),
                role => format!(" ({role})"),
            };
            out.push_str(&format!(
                "| {gateway}{role} | {metric} | {} | {} | {} | {} | {} | {} |\n",
                words.baseline,
                words.candidate,
                words.ratio,
                shown(&words.interval),
                words.verdict,
                escape(&words.count)
            ));
        }
        out.push('\n');
    }
    if !found.differences.is_empty() {
        out.push_str("| | differs | baseline | candidate |\n|:--|:--|:--|:--|\n");
        for it in &found.differences {
            out.push_str(&format!(
                "| {} | {} | {} | {} |\n",
                weight(it.weight),
                escape(&it.what),
                escape(shown(&it.baseline)),
                escape(shown(&it.candidate))
            ));
        }
        out.push('\n');
    }
    out + &format!("<sub>{} Bold decides.</sub>\n", explanation(found.mode))
}
