//! A run in a document's columns as Markdown.

use gatebench_analysis::findings::DocumentFindings;

use super::{CORRECTIONS, EFFECT, EXPLANATION, doubt, effects, parts};
use crate::markdown::{escape, whole};
use crate::problems::word;

/// Writes the tables and what was corrected.
pub fn render(found: &DocumentFindings) -> String {
    let mut out = format!(
        "## In the columns of: {}\n\n{} {EXPLANATION}\n\n",
        escape(&found.title),
        escape(&found.setting)
    );
    for it in &found.tables {
        out.push_str(&format!("### {}\n\n", escape(&it.title)));
        let loads = it.groups.iter().filter(|group| !group.label.is_empty());
        let loads: Vec<String> = loads
            .map(|group| format!("**{}**: {}", escape(&group.title), escape(&group.label)))
            .collect();
        out.push_str(&format!("{}.\n\n", loads.join("; ")));
        for part in parts(it) {
            out.push_str(&whole(&part, it.first));
        }
    }
    for note in &found.notes {
        out.push_str(&format!("- {}\n", escape(note)));
    }
    if !found.doubts.is_empty() {
        out.push_str("\n### Validity\n\n");
    }
    for it in &found.doubts {
        let [rows, said] = doubt(it);
        out.push_str(&format!(
            "- **{}**, {}: {}\n",
            word(it.validity),
            escape(&rows),
            escape(&said)
        ));
    }
    if !found.corrections.is_empty() {
        out.push_str(&format!("\n### {CORRECTIONS}\n\n{EFFECT}\n\n"));
    }
    for it in &found.corrections {
        out.push_str(&format!(
            "**{}.** {} *Here*: {}\n\n",
            escape(&it.title),
            escape(&it.published),
            escape(&it.here)
        ));
        match &it.untold {
            Some(why) => out.push_str(&format!("{}\n\n", escape(why))),
            None => out.push_str(&whole(&effects(it), "row")),
        }
    }
    out + &format!(
        "<sub>gatebench {} · {}</sub>\n",
        escape(&found.gatebench),
        escape(&found.command)
    )
}
