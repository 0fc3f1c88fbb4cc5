//! A gateway's values set next to those of the direct variant and of the null gateway in the same
//! block.

use std::collections::BTreeMap;

use gatebench_model::Variant;

use super::{Cell, PhaseValues};
use crate::context::Context;
use crate::findings::{BlockValue, Metric, PhaseKind};

/// Adds the metrics that relate a gateway to the direct variant and to the null gateway, if the
/// plan has them.
pub(crate) fn relate_to_bases(context: &Context, values: &mut BTreeMap<Cell, Vec<PhaseValues>>) {
    for variant in &context.plan.variants {
        if *variant == Variant::Direct {
            relate_all(context, values, variant.label(), relate_phase);
        } else if variant.is_null() {
            relate_all(context, values, variant.label(), |own, null| {
                relate_by(own, null, OVER_NULL);
            });
        }
    }
}

fn relate_all(
    context: &Context,
    values: &mut BTreeMap<Cell, Vec<PhaseValues>>,
    base: &str,
    relate: fn(&mut PhaseValues, &PhaseValues),
) {
    for scenario in &context.plan.scenarios {
        // Taken out while the others are changed.
        let cell = (scenario.scenario.clone(), base.to_owned());
        let Some(bases) = values.remove(&cell) else {
            continue;
        };
        let gateways = values.iter_mut().filter(|((name, variant), _)| {
            *name == scenario.scenario && *variant != Variant::Direct.label()
        });
        for own in gateways.flat_map(|(_, phases)| phases) {
            if let Some(base) = bases.iter().find(|base| base.phase == own.phase) {
                relate(own, base);
            }
        }
        values.insert(cell, bases);
    }
}

fn relate_phase(own: &mut PhaseValues, base: &PhaseValues) {
    relate_by(own, base, relations(own.kind));
}

fn relate_by(own: &mut PhaseValues, base: &PhaseValues, relations: &[(Metric, Metric, Relate)]) {
    for (metric, of, relate) in relations {
        let (Some(values), Some(direct)) = (own.metrics.get(of), base.metrics.get(of)) else {
            continue;
        };
        let related = paired(values, direct, *relate);
        if !related.is_empty() {
            own.metrics.insert(*metric, related);
        }
    }
}

/// A gateway's added latency minus the null gateway's: differences of two quantiles.
const OVER_NULL: &[(Metric, Metric, Relate)] = &[
    (Metric::AddedP50OverNull, Metric::AddedP50, |own, null| {
        own - null
    }),
    (Metric::AddedP99OverNull, Metric::AddedP99, |own, null| {
        own - null
    }),
];

/// What a value is made of: itself and the direct variant's.
type Relate = fn(f64, f64) -> f64;

/// Metrics that are a gateway's value set beside the direct variant's.
fn relations(kind: PhaseKind) -> &'static [(Metric, Metric, Relate)] {
    match kind {
        PhaseKind::SideBySide => &[],
        PhaseKind::Closed => &[(
            Metric::ThroughputOfDirect,
            Metric::Throughput,
            |own, direct| own / direct,
        )],
        PhaseKind::Paced | PhaseKind::Open => &[
            (
                Metric::ResponseP50OverDirect,
                Metric::ResponseP50,
                |own, direct| own - direct,
            ),
            (
                Metric::ResponseP99OverDirect,
                Metric::ResponseP99,
                |own, direct| own - direct,
            ),
        ],
    }
}

/// Values of the same block; as valid as the worse of the two.
fn paired(own: &[BlockValue], direct: &[BlockValue], relate: Relate) -> Vec<BlockValue> {
    let partner = |block| {
        direct
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
