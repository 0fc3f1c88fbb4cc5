//! The limits of a scenario's findings, in a line for each phase. The validity of each variant
//! states the numbers and the remedies.

use std::cmp::Reverse;

use gatebench_report::format::listed;
use gatebench_report::{Tone, Validity};

use crate::common::facts::{Gate, ScenarioFindings};
use crate::common::{by_key, joined, wire};

/// One sentence for each phase and validity, the worst first; whole trials come before the phases,
/// which are in the plan's order.
pub(crate) fn of_scenario(scenario: &ScenarioFindings) -> Vec<(Tone, String)> {
    let tripped = scenario.rows.iter().flat_map(|row| {
        let reasons = row.reasons.iter();
        reasons.map(|it| ((it.validity, it.phase.as_deref()), (&*row.variant, it.gate)))
    });
    let place = |phase: Option<&str>| {
        let phases = &scenario.phases;
        phase.map(|name| phases.iter().position(|phase| phase.name == name))
    };
    let mut places = by_key(tripped);
    places.sort_by_key(|((validity, phase), _)| (Reverse(*validity), place(*phase)));
    let limits = places.into_iter();
    limits
        .map(|((validity, phase), tripped)| sentence(validity, phase, tripped))
        .chain(wire::differences(&scenario.wire))
        .collect()
}

/// The limits in a sentence, from the variants and the gates that they tripped: `limited in
/// saturate: nginx and haproxy (near direct throughput); reference (near direct throughput, other
/// processes).`
fn sentence(validity: Validity, phase: Option<&str>, tripped: Vec<(&str, Gate)>) -> (Tone, String) {
    let (word, tone) = match validity {
        Validity::Invalid => ("invalid", Tone::Alarm),
        Validity::Limited | Validity::Valid => ("limited", Tone::Caution),
    };
    let place = phase
        .map(|phase| format!(" in {phase}"))
        .unwrap_or_default();
    // Variants that tripped the same gates are named together, even if the order of the gates
    // differs.
    let variants = by_key(tripped).into_iter().map(|(variant, mut gates)| {
        gates.sort();
        (gates, variant.to_owned())
    });
    let groups = by_key(variants).into_iter().map(|(gates, names)| {
        let why = joined(gates.iter().map(|gate| gate.in_short()), ", ");
        format!("{} ({why})", listed(&names))
    });
    (tone, format!("{word}{place}: {}.", joined(groups, "; ")))
}
