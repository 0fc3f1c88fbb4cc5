//! What limits a scenario's findings, in words.

use std::collections::BTreeMap;

use crate::findings::{Gate, Reason, ScenarioFindings, Tone, Validity, VariantRow};
use crate::words::listed;

/// What tripped: a gate in a phase (or over the whole trial), and how bad it is.
type Tripped<'a> = (Validity, Option<&'a str>, Gate);

/// One sentence per gate and phase that tripped, with its variants; the worst first.
pub(crate) fn of_scenario(scenario: &ScenarioFindings) -> Vec<(Tone, String)> {
    let mut tripped: BTreeMap<Tripped, Vec<(&VariantRow, &Reason)>> = BTreeMap::new();
    for row in &scenario.rows {
        for reason in &row.reasons {
            let what = (reason.validity, reason.phase.as_deref(), reason.gate);
            tripped.entry(what).or_default().push((row, reason));
        }
    }
    let worst_first = tripped.into_iter().rev();
    worst_first
        .map(|((validity, phase, _), seen)| sentence(validity, phase, &seen))
        .collect()
}

fn sentence(
    validity: Validity,
    phase: Option<&str>,
    seen: &[(&VariantRow, &Reason)],
) -> (Tone, String) {
    let names: Vec<_> = seen.iter().map(|(row, _)| row.variant.clone()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let (word, tone) = match validity {
        Validity::Invalid => ("invalid", Tone::Alarm),
        Validity::Limited | Validity::Valid => ("limited", Tone::Caution),
    };
    let place = phase.map(|phase| format!(" ({phase})")).unwrap_or_default();
    // With several variants the numbers of the first would be read as everybody's.
    let why = match seen {
        [(_, only)] => only.message.clone(),
        many => {
            let each = many
                .iter()
                .map(|(row, reason)| format!("{}: {}", row.variant, reason.message));
            each.collect::<Vec<_>>().join(" ")
        }
    };
    (
        tone,
        format!("{}{place} {verb} {word}. {why}", listed(&names)),
    )
}
