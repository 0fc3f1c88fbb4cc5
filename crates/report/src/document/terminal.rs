//! A run in a document's columns on a terminal.

use gatebench_analysis::findings::{DocumentFindings, Validity};

use super::{CORRECTIONS, EFFECT, EXPLANATION, doubt, effects, table};
use crate::TerminalOptions;
use crate::problems::word;
use crate::terminal::sheet::Sheet;
use crate::terminal::style::Style;

/// Writes the tables and what was corrected, with a line break at the end.
pub fn render(found: &DocumentFindings, options: TerminalOptions) -> String {
    let mut sheet = Sheet::new(options);
    sheet.heading(&format!("In the columns of: {}", found.title));
    sheet.soft(&found.setting);
    sheet.soft(EXPLANATION);
    for it in &found.tables {
        sheet.blank();
        sheet.heading(&it.title);
        sheet.grid(&table(it));
    }
    if !found.notes.is_empty() {
        sheet.blank();
    }
    for note in &found.notes {
        sheet.item("  · ", Style::Soft, note);
    }
    if !found.doubts.is_empty() {
        sheet.blank();
        sheet.heading("Validity");
    }
    for it in &found.doubts {
        let style = match it.validity {
            Validity::Invalid => Style::Bad,
            Validity::Limited | Validity::Valid => Style::Fair,
        };
        let [rows, said] = doubt(it);
        let lead = format!("  {}: ", word(it.validity));
        sheet.item(&lead, style, &format!("{rows}: {said}"));
    }
    if !found.corrections.is_empty() {
        sheet.blank();
        sheet.heading(CORRECTIONS);
        sheet.soft(EFFECT);
    }
    for it in &found.corrections {
        sheet.blank();
        sheet.heading(&it.title);
        sheet.item("  published: ", Style::Fair, &it.published);
        sheet.item("  here:      ", Style::Good, &it.here);
        match &it.untold {
            Some(why) => sheet.item("  ", Style::Soft, why),
            None => sheet.grid(&effects(it)),
        }
    }
    sheet.finish()
}
