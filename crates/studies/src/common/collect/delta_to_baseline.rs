//! Relates a gateway's values to those of the direct variant and of the null gateway in the same
//! block.

use std::collections::BTreeMap;

use gatebench_model::Variant;

use super::{Cell, PhaseValues};
use crate::common::context::Context;
use crate::common::facts::{BlockValue, Metric, PhaseKind};

/// Adds the metrics that relate a gateway to the direct variant and to the null gateway, if the
/// plan has them.
pub(crate) fn relate_to_bases(context: &Context, values: &mut BTreeMap<Cell, Vec<PhaseValues>>) {
    let cells = context.cells();
    for (scenario, variant) in cells.filter(|(_, it)| it.is_control()) {
        // The base is removed while the other cells are changed, and is inserted again below.
        let cell = (scenario.scenario.clone(), variant.label().to_owned());
        let Some(bases) = values.remove(&cell) else {
            continue;
        };
        let gateways = values.iter_mut().filter(|((name, variant), _)| {
            *name == scenario.scenario && *variant != Variant::Direct.label()
        });
        for own in gateways.flat_map(|(_, phases)| phases) {
            let relations = match variant {
                Variant::Direct => over_direct(own.kind),
                _ => OVER_NULL,
            };
            if let Some(base) = bases.iter().find(|base| base.phase == own.phase) {
                relate(own, base, relations);
            }
        }
        values.insert(cell, bases);
    }
}

fn relate(own: &mut PhaseValues, base: &PhaseValues, relations: &[Relation]) {
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

/// Computes a figure from the value of a gateway and that of a base.
type Relate = fn(f64, f64) -> f64;

/// A difference of two quantiles, not a quantile of differences.
const DIFFERENCE: Relate = |own, base| own - base;
const RATIO: Relate = |own, base| own / base;

/// The resulting metric, the metric that is read from both sides, and how their values are related.
type Relation = (Metric, Metric, Relate);

const OVER_NULL: &[Relation] = &[
    (Metric::AddedP50OverNull, Metric::AddedP50, DIFFERENCE),
    (Metric::AddedP99OverNull, Metric::AddedP99, DIFFERENCE),
];

const CLOSED_OVER_DIRECT: &[Relation] = &[(Metric::ThroughputOfDirect, Metric::Throughput, RATIO)];

const OTHERS_OVER_DIRECT: &[Relation] = &[
    (
        Metric::ResponseP50OverDirect,
        Metric::ResponseP50,
        DIFFERENCE,
    ),
    (
        Metric::ResponseP99OverDirect,
        Metric::ResponseP99,
        DIFFERENCE,
    ),
];

fn over_direct(kind: PhaseKind) -> &'static [Relation] {
    match kind {
        PhaseKind::SideBySide => &[],
        PhaseKind::Closed => CLOSED_OVER_DIRECT,
        PhaseKind::Paced | PhaseKind::Open => OTHERS_OVER_DIRECT,
    }
}

/// Relates values of the same block. The result is as valid as the less valid of the two.
fn paired(own: &[BlockValue], direct: &[BlockValue], relate: Relate) -> Vec<BlockValue> {
    let related = own.iter().filter_map(|value| {
        let mut bases = direct.iter().filter(|base| base.value > 0.0);
        let base = bases.find(|base| base.block == value.block)?;
        Some(BlockValue {
            value: relate(value.value, base.value),
            validity: value.validity.max(base.validity),
            ..value.clone()
        })
    });
    related.collect()
}
