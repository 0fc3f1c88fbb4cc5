//! What limits the figures of a document's tables, and what is not in them.

use gatebench_model::Length;
use gatebench_store::Run;

use super::Document;
use super::measured::Measured;
use super::policies::{Line, is_in_run};
use crate::Findings;
use crate::findings::{DocumentDoubt, DocumentTable, Gate, Validity};

/// The reasons of all rows of the tables, each once with the rows that have it, the worst first.
pub(super) fn of(findings: &Findings, tables: &[DocumentTable]) -> Vec<DocumentDoubt> {
    let shown = |variant: &str| {
        let mut rows = tables.iter().flat_map(|it| &it.rows);
        rows.any(|row| row.variant.is_empty() || row.variant == variant)
    };
    let mut found: Vec<(Gate, DocumentDoubt)> = Vec::new();
    for scenario in &findings.scenarios {
        for row in scenario.rows.iter().filter(|row| shown(&row.variant)) {
            let name = format!("{}, {}", scenario.name, row.variant);
            for reason in &row.reasons {
                let same = |known: &&mut (Gate, DocumentDoubt)| {
                    known.0 == reason.gate && known.1.validity == reason.validity
                };
                match found.iter_mut().find(same) {
                    Some((_, doubt)) if doubt.rows.contains(&name) => {}
                    Some((_, doubt)) => doubt.rows.push(name.clone()),
                    None => found.push((
                        reason.gate,
                        DocumentDoubt {
                            validity: reason.validity,
                            rows: vec![name.clone()],
                            message: reason.message.clone(),
                            remedy: reason.remedy.clone(),
                        },
                    )),
                }
            }
        }
    }
    let mut doubts: Vec<_> = found.into_iter().map(|(_, doubt)| doubt).collect();
    doubts.retain(|doubt| doubt.validity != Validity::Valid);
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.validity));
    doubts
}

/// Whether the loads are the document's.
pub(super) fn length(document: Document, run: &Run) -> String {
    let plan = &run.manifest().plan;
    if plan.specification.is_some() {
        return "Loads are the specification's.".into();
    }
    let length = plan.length.as_ref();
    if length.is_some_and(|it| it.length == Length::AsPublished) {
        return "Loads, ramps and users are the document's; requests carry nothing of ours.".into();
    }
    format!(
        "Loads are shorter than the document's, and their users others: gatebench run {} --as-published has the document's.",
        document.suite_of(&plan.suite)
    )
}

/// The rows of a table that the run does not have, and this suite has.
pub(super) fn not_in_run(
    suite: &str,
    measured: &Measured<'_>,
    lines: &[Line<'_>],
) -> Option<String> {
    let absent = lines.iter().filter(|it| !is_in_run(measured, it));
    let absent: Vec<String> = absent.map(|it| it.published.label.to_owned()).collect();
    (!absent.is_empty()).then(|| {
        format!(
            "Not in this run: {}. The suite '{suite}' has them.",
            absent.join("; ")
        )
    })
}

/// Columns in which nothing was measured, and how they would be.
pub(super) fn notes(document: Document, tables: &[DocumentTable]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for table in tables {
        let columns = table.groups.iter().flat_map(|group| {
            let named = group
                .columns
                .iter()
                .map(move |column| (group.title, column));
            named.collect::<Vec<_>>()
        });
        for (place, (group, column)) in columns.enumerate() {
            let is_empty = |row: &&crate::findings::DocumentRow| {
                let cell = &row.cells[place];
                cell.validity.is_none() && cell.words.is_none()
            };
            let present = || table.rows.iter().filter(|it| it.absence.is_none());
            // A table whose rows all say why they are absent needs no further reason.
            let is_unmeasured = present().next().is_some() && present().all(|row| is_empty(&row));
            let Some(how) = how(document, group, &column.head).filter(|_| is_unmeasured) else {
                continue;
            };
            let head = column.head.join(" ");
            let note = format!("{} ({group}): not measured; {how}", head.trim());
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// How a column would be measured; none where that is not a matter of how the run was made.
fn how(document: Document, group: &str, head: &[String; 2]) -> Option<String> {
    let [first, second] = head.each_ref().map(String::as_str);
    let suite = document.suite();
    let as_is =
        format!("run the suite '{suite}' without --as-published, which sends nothing of ours.");
    match (group, first, second) {
        ("ours", "added" | "response", _) => Some(as_is),
        (_, "gateway", "p95") => Some(as_is),
        (_, "memory", _) => Some("the gateway's process tree is not known: add --pid.".into()),
        (_, "p95" | "p99", _) => Some("too few answers lie beyond it: run it for longer.".into()),
        ("ratio", "here", _) => Some(format!(
            "it needs the row that the others are set against: run the whole suite '{suite}'."
        )),
        _ => None,
    }
}
