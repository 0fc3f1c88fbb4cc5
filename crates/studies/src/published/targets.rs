//! The targets of a sweep over connections: gateways that serve requests themselves, the upstream,
//! and gateways in front of it.

use gatebench_model::{Scenario, Shape, Variant};

use super::measured::{Load, Measured, first_like};

pub(super) struct Target<'a> {
    pub(super) name: String,
    pub(super) scenario: &'a str,
    pub(super) has_direct: bool,
    pub(super) is_direct: bool,
    pub(super) loads: Vec<Load<'a>>,
}

/// The number of connections of a load that keeps this number constant; `None` for other loads.
pub(super) fn connections(load: &Load<'_>) -> Option<u32> {
    match &load.phase.shape {
        Shape::Closed(closed) if closed.stages.is_empty() => Some(closed.connections),
        Shape::Closed(_) | Shape::Open(_) => None,
    }
}

/// Returns the targets in the order of documents: gateways that serve requests themselves, the
/// upstream, and gateways in front of it.
pub(super) fn targets<'a>(measured: &Measured<'a>) -> Vec<Target<'a>> {
    let plan = &measured.run.manifest().plan;
    let several = plan.scenarios.iter().filter(|it| it.has_direct()).count() > 1;
    let mut found = Vec::new();
    for scenario in &plan.scenarios {
        for variant in &plan.variants {
            let loads = measured.loads(&scenario.scenario, variant.label());
            if !loads.is_empty() {
                found.push(target(scenario, variant, several, loads));
            }
        }
    }
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, target)| target).collect()
}

/// A target, and its rank in the order of documents.
fn target<'a>(
    scenario: &'a Scenario,
    variant: &Variant,
    several: bool,
    loads: Vec<Load<'a>>,
) -> (u32, Target<'a>) {
    let label = variant.label();
    let (order, name) = match (scenario.has_direct(), variant) {
        (false, _) => (0, format!("{label} itself")),
        (true, Variant::Direct) => (1, "upstream".into()),
        (true, _) => (2, format!("via {label}")),
    };
    let target = Target {
        name: if several && scenario.has_direct() {
            format!("{}: {name}", scenario.scenario)
        } else {
            name
        },
        scenario: &scenario.scenario,
        has_direct: scenario.has_direct(),
        is_direct: *variant == Variant::Direct,
        loads,
    };
    (order, target)
}

impl<'a> Target<'a> {
    /// The loads with this number of connections; if several phases have this number, the loads of
    /// the first phase.
    pub(super) fn at(&self, number: u32) -> Vec<Load<'a>> {
        first_like(&self.loads, |it| connections(it) == Some(number))
    }

    /// The target's name with its largest number of connections, and the loads with this number.
    pub(super) fn at_most(&self) -> Option<(String, Vec<Load<'a>>)> {
        let number = self.loads.iter().filter_map(connections).max()?;
        let name = format!("{}, {number} connections", self.name);
        Some((name, self.at(number)))
    }
}
