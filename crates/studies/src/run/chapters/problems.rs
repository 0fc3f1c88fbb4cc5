//! The limits of the results, grouped by remedy, and the failed trials.

use std::collections::BTreeSet;

use gatebench_report::Validity;
use gatebench_report::chapter::{Forms, Note, PAGE, Place};
use gatebench_report::palette::Palette;

use crate::common::facts::{Failure, Gate, ScenarioFindings};

/// Collects the reasons from all rows, the invalidating ones first. Reasons with the same gate and
/// remedy become one note.
pub fn problems(scenarios: &[ScenarioFindings], palette: &Palette) -> Vec<(Validity, Note)> {
    let mut problems: Vec<(Gate, Validity, Note)> = Vec::new();
    let rows = scenarios.iter().flat_map(|scenario| {
        let rows = scenario.rows_and_null();
        rows.map(move |row| (&scenario.name, row))
    });
    for (scenario, row) in rows {
        for reason in &row.reasons {
            let place = Place {
                class: palette.class(&row.variant),
                subject: row.variant.clone(),
                place: match &reason.phase {
                    Some(phase) => format!("{scenario}, {phase}"),
                    None => scenario.clone(),
                },
                message: reason.message.clone(),
            };
            let same = |(gate, _, note): &&mut (Gate, Validity, Note)| {
                *gate == reason.gate && note.remedy == reason.remedy
            };
            match problems.iter_mut().find(same) {
                Some((_, validity, note)) => {
                    *validity = reason.validity.max(*validity);
                    if !note.places.contains(&place) {
                        note.places.push(place);
                    }
                }
                None => problems.push((
                    reason.gate,
                    reason.validity,
                    Note {
                        word: "",
                        places: vec![place],
                        reason: None,
                        remedy: reason.remedy.clone(),
                    },
                )),
            }
        }
    }
    problems.sort_by_key(|(_, validity, _)| std::cmp::Reverse(*validity));
    let worded = problems.into_iter().map(|(_, validity, note)| {
        let word = validity.word();
        (validity, Note { word, ..note })
    });
    worded.collect()
}

/// Returns the failures, grouped over blocks by the first line of their reasons. The other lines
/// contain ports and nonces, so one example is enough.
pub fn failures(failures: &[Failure], form: Forms) -> Vec<Note> {
    let subject = |it: &Failure| {
        let first = it.reason.lines().next().unwrap_or_default().to_owned();
        let place = (it.scenario.clone(), it.variant.clone(), it.phase.clone());
        (place, it.culprit.clone(), it.remedy.clone(), first)
    };
    let mut once: Vec<(&Failure, BTreeSet<u32>)> = Vec::new();
    for failure in failures {
        let mut known = once.iter_mut();
        match known.find(|(known, _)| subject(known) == subject(failure)) {
            Some((_, blocks)) => drop(blocks.insert(failure.block)),
            None => once.push((failure, BTreeSet::from([failure.block]))),
        }
    }
    let note = |(failure, blocks): (&Failure, BTreeSet<u32>)| Note {
        word: "failed",
        places: vec![Place {
            class: String::new(),
            subject: failure.variant.clone(),
            place: place(failure, &blocks, form),
            message: failure.culprit.clone(),
        }],
        reason: Some(failure.reason.clone()),
        remedy: failure.remedy.clone(),
    };
    once.into_iter().map(note).collect()
}

/// The place of a failure: `api-key, blocks 1, 2, 3`.
fn place(failure: &Failure, blocks: &BTreeSet<u32>, form: Forms) -> String {
    let all: Vec<String> = blocks.iter().map(u32::to_string).collect();
    let noun = if all.len() == 1 { "block" } else { "blocks" };
    let phase = match &failure.phase {
        Some(phase) if form == PAGE => format!(", phase {phase}"),
        _ => String::new(),
    };
    format!("{}, {noun} {}{phase}", failure.scenario, all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_are_alike_are_reported_once() {
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
