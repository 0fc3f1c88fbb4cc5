//! A gateway's values set beside the floor's of the same block.

use std::collections::BTreeMap;

use gatebench_model::Variant;

use crate::collect::{Cell, PhaseValues};
use crate::context::Context;
use crate::findings::{BlockValue, Metric, PhaseKind};

/// Adds the metrics that relate a gateway to the floor, where the plan has one.
pub(crate) fn relate_to_floor(context: &Context, values: &mut BTreeMap<Cell, Vec<PhaseValues>>) {
    let floor = context
        .plan
        .variants
        .iter()
        .find(|variant| **variant == Variant::Floor);
    let Some(floor) = floor.map(Variant::label) else {
        return;
    };
    for scenario in &context.plan.scenarios {
        // Taken out while the others are changed.
        let cell = (scenario.scenario.clone(), floor.to_owned());
        let Some(floors) = values.remove(&cell) else {
            continue;
        };
        let gateways = values
            .iter_mut()
            .filter(|((name, _), _)| *name == scenario.scenario);
        for own in gateways.flat_map(|(_, phases)| phases) {
            if let Some(base) = floors.iter().find(|base| base.phase == own.phase) {
                relate_phase(own, base);
            }
        }
        values.insert(cell, floors);
    }
}

fn relate_phase(own: &mut PhaseValues, base: &PhaseValues) {
    for (metric, of, relate) in relations(own.kind) {
        let (Some(values), Some(floor)) = (own.metrics.get(of), base.metrics.get(of)) else {
            continue;
        };
        let related = paired(values, floor, *relate);
        if !related.is_empty() {
            own.metrics.insert(*metric, related);
        }
    }
}

/// What a value is made of: itself and the floor's.
type Relate = fn(f64, f64) -> f64;

/// Metrics that are a gateway's value set beside the floor's.
fn relations(kind: PhaseKind) -> &'static [(Metric, Metric, Relate)] {
    match kind {
        PhaseKind::SideBySide => &[],
        PhaseKind::Closed => &[(
            Metric::ThroughputOfFloor,
            Metric::Throughput,
            |own, floor| own / floor,
        )],
        PhaseKind::Paced | PhaseKind::Open => &[
            (
                Metric::ResponseP50OverFloor,
                Metric::ResponseP50,
                |own, floor| own - floor,
            ),
            (
                Metric::ResponseP99OverFloor,
                Metric::ResponseP99,
                |own, floor| own - floor,
            ),
        ],
    }
}

/// Values of the same block; as valid as the worse of the two.
fn paired(own: &[BlockValue], floor: &[BlockValue], relate: Relate) -> Vec<BlockValue> {
    let partner = |block| {
        floor
            .iter()
            .find(|value| value.block == block && value.value > 0.0)
    };
    own.iter()
        .filter_map(|value| {
            let base = partner(value.block)?;
            let validity = value.validity.max(base.validity);
            Some(BlockValue {
                value: relate(value.value, base.value),
                validity,
                ..value.clone()
            })
        })
        .collect()
}
