//! Tests a gate with a change that trips it and with a slightly smaller one that does not.

use gatebench_report::Validity;
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Aspect, Gate, Reason};

use super::{Made, three_blocks, trial};

/// The reasons against nginx's first trial if all its trials are changed.
pub fn reasons(change: impl Fn(&mut Made)) -> Vec<Reason> {
    trial(&changed(change), "nginx").reasons.clone()
}

pub fn changed(change: impl Fn(&mut Made)) -> Findings {
    three_blocks(|made| {
        if made.is("nginx") {
            change(made);
        }
    })
}

/// Asserts that `trips` trips only this gate, with this validity and these spoiled aspects, and
/// that `spares` trips no gate. The reason's message and remedy must end with a period.
pub fn check(
    gate: Gate,
    validity: Validity,
    spoils: &[Aspect],
    trips: impl Fn(&mut Made),
    spares: impl Fn(&mut Made),
) {
    let found = reasons(trips);
    let [reason] = found.as_slice() else {
        panic!("{gate:?}: {found:#?}")
    };
    assert_eq!(
        (reason.gate, reason.validity),
        (gate, validity),
        "{reason:?}"
    );
    assert_eq!(reason.spoils, spoils, "{reason:?}");
    assert!(
        reason.message.ends_with('.') && reason.remedy.ends_with('.'),
        "{reason:?}"
    );
    let spared = reasons(spares);
    assert!(spared.is_empty(), "{gate:?}: {spared:#?}");
}

pub const ALL: [Aspect; 4] = [
    Aspect::Throughput,
    Aspect::Latency,
    Aspect::CpuPerRequest,
    Aspect::Memory,
];
