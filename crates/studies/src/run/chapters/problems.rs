//! The limits of the results, grouped by remedy, and the failed trials.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use gatebench_report::Validity;
use gatebench_report::chapter::{Forms, Note, PAGE, Place};
use gatebench_report::format::distinct;
use gatebench_report::palette::Palette;

use crate::common::facts::{Failure, Gate, Reason, ScenarioFindings};
use crate::common::{by_key, joined};

/// Collects the reasons from all rows, first those that make figures invalid. Reasons with the same
/// gate and remedy become one note.
pub fn problems(scenarios: &[ScenarioFindings], palette: &Palette) -> Vec<(Validity, Note)> {
    let mut reasons = Vec::new();
    for scenario in scenarios {
        for row in scenario.rows_and_null() {
            let place = |reason: &Reason| Place {
                class: palette.class(&row.variant),
                subject: row.variant.clone(),
                place: match &reason.phase {
                    Some(phase) => format!("{}, {phase}", scenario.name),
                    None => scenario.name.clone(),
                },
                message: reason.message.clone(),
            };
            let own = row.reasons.iter();
            reasons.extend(own.map(|it| ((it.gate, &*it.remedy), (it.validity, place(it)))));
        }
    }
    let note = |((_, remedy), seen): ((Gate, &str), Vec<(Validity, Place)>)| {
        let worst = seen.iter().map(|(validity, _)| *validity).max()?;
        let note = Note {
            word: worst.word(),
            places: distinct(seen.into_iter().map(|(_, place)| place)),
            reason: None,
            remedy: remedy.to_owned(),
        };
        Some((worst, note))
    };
    let notes = by_key(reasons).into_iter().filter_map(note);
    let mut notes: Vec<(Validity, Note)> = notes.collect();
    notes.sort_by_key(|(validity, _)| Reverse(*validity));
    notes
}

/// Returns the failures, grouped across blocks by the first line of their reasons. The other lines
/// may contain ports and nonces, so one example is enough.
pub fn failures(failures: &[Failure], form: Forms) -> Vec<Note> {
    let subject = |it: &Failure| {
        let first = it.reason.lines().next().unwrap_or_default().to_owned();
        let place = (it.scenario.clone(), it.variant.clone(), it.phase.clone());
        (place, it.culprit.clone(), it.remedy.clone(), first)
    };
    let note = |alike: &[&Failure]| {
        let failure = alike[0];
        Note {
            word: "failed",
            places: vec![Place {
                class: String::new(),
                subject: failure.variant.clone(),
                place: place(alike, form),
                message: failure.culprit.clone(),
            }],
            reason: Some(failure.reason.clone()),
            remedy: failure.remedy.clone(),
        }
    };
    let groups = by_key(failures.iter().map(|it| (subject(it), it))).into_iter();
    groups.map(|(_, alike)| note(&alike)).collect()
}

/// The location of failures in one phase of a scenario: `api-key, blocks 1, 2, 3`.
fn place(alike: &[&Failure], form: Forms) -> String {
    let (failure, blocks) = (alike[0], alike.iter().map(|it| it.block));
    let blocks: BTreeSet<u32> = blocks.collect();
    let noun = if blocks.len() == 1 { "block" } else { "blocks" };
    let phase = match &failure.phase {
        Some(phase) if form == PAGE => format!(", phase {phase}"),
        _ => String::new(),
    };
    let blocks = joined(blocks, ", ");
    format!("{}, {noun} {blocks}{phase}", failure.scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_failures_are_reported_once() {
        let failure = |block, scenario: &str, reason: &str| Failure {
            trial: block,
            block,
            scenario: scenario.into(),
            variant: "nginx".into(),
            culprit: "gateway nginx".into(),
            reason: reason.into(),
            remedy: "look".into(),
            phase: None,
        };
        let all = [
            failure(2, "a", "it fails\nport 1"),
            failure(1, "a", "it fails\nport 2"),
            failure(1, "b", "it fails\nport 3"),
            failure(3, "a", "it fails otherwise"),
        ];
        let found: Vec<_> = failures(&all, PAGE)
            .into_iter()
            .map(|it| (it.places[0].place.clone(), it.reason))
            .collect();
        let expected = [
            ("a, blocks 1, 2", "it fails\nport 1"),
            ("b, block 1", "it fails\nport 3"),
            ("a, block 3", "it fails otherwise"),
        ];
        assert_eq!(
            found,
            expected.map(|(place, reason)| (place.to_owned(), Some(reason.to_owned())))
        );
    }
}
