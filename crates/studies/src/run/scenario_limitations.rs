//! The limits of a scenario's findings, in a line for each phase. The validity of each variant
//! states the numbers and the remedies.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gatebench_report::format::listed;
use gatebench_report::{Tone, Validity};

use crate::common::facts::{Gate, ScenarioFindings};
use crate::common::wire;

/// One sentence for each phase and validity, the worst first; whole trials come before the phases,
/// which are in the plan's order.
pub(crate) fn of_scenario(scenario: &ScenarioFindings) -> Vec<(Tone, String)> {
    let mut tripped: BTreeMap<(Validity, Option<&str>), Vec<Sighting>> = BTreeMap::new();
    for row in &scenario.rows {
        for reason in &row.reasons {
            let place = (reason.validity, reason.phase.as_deref());
            add(tripped.entry(place).or_default(), &row.variant, reason.gate);
        }
    }
    let place = |phase: Option<&str>| {
        let phases = &scenario.phases;
        phase.map(|name| phases.iter().position(|phase| phase.name == name))
    };
    let mut worst_first: Vec<_> = tripped.into_iter().collect();
    worst_first.sort_by_key(|((validity, phase), _)| (Reverse(*validity), place(*phase)));
    worst_first
        .into_iter()
        .map(|((validity, phase), mut seen)| {
            // Variants that tripped the same gates are named together, in whatever order the gates
            // were tripped.
            seen.iter_mut().for_each(|sighting| sighting.gates.sort());
            sentence(validity, phase, &seen)
        })
        .chain(wire::differences(&scenario.wire))
        .collect()
}

/// A variant and the gates that it tripped.
struct Sighting<'a> {
    variant: &'a str,
    gates: Vec<Gate>,
}

fn add<'a>(seen: &mut Vec<Sighting<'a>>, variant: &'a str, gate: Gate) {
    match seen.last_mut().filter(|last| last.variant == variant) {
        Some(last) => last.gates.push(gate),
        None => seen.push(Sighting {
            variant,
            gates: vec![gate],
        }),
    }
}

/// The limits in a sentence: `limited in saturate: nginx and haproxy (near direct throughput);
/// reference (near direct throughput, other processes).`
fn sentence(validity: Validity, phase: Option<&str>, seen: &[Sighting]) -> (Tone, String) {
    let (word, tone) = match validity {
        Validity::Invalid => ("invalid", Tone::Alarm),
        Validity::Limited | Validity::Valid => ("limited", Tone::Caution),
    };
    let place = phase
        .map(|phase| format!(" in {phase}"))
        .unwrap_or_default();
    let mut groups: Vec<(&[Gate], Vec<String>)> = Vec::new();
    for sighting in seen {
        let same = |group: &&mut (&[Gate], Vec<String>)| group.0 == sighting.gates;
        match groups.iter_mut().find(same) {
            Some((_, names)) => names.push(sighting.variant.to_owned()),
            None => groups.push((&sighting.gates, vec![sighting.variant.to_owned()])),
        }
    }
    let groups: Vec<_> = groups
        .iter()
        .map(|(gates, names)| {
            let why: Vec<_> = gates.iter().map(|gate| gate.in_short()).collect();
            format!("{} ({})", listed(names), why.join(", "))
        })
        .collect();
    (tone, format!("{word}{place}: {}.", groups.join("; ")))
}
