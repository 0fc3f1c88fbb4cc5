//! Percentile curves over all blocks. The blocks' histograms are added, because percentiles cannot
//! be averaged.

use std::collections::BTreeMap;

use gatebench_model::Trial;
use gatebench_report::Validity;
use gatebench_stats::highest_trustworthy_percentile;
use gatebench_store::{Histogram, PhaseRecord};

use super::Names;
use super::context::kind;
use super::digest::Digest;
use super::facts::{CurveMetric, CurvePoint, PercentileCurve, PhaseKind};

/// The number of points for each tenfold decrease in the share of samples beyond them. It is enough
/// for a smooth line.
const POINTS_PER_DECADE: i32 = 20;

/// The histograms collected so far, by scenario, phase, metric and variant.
#[derive(Default)]
pub(crate) struct Curves {
    merged: BTreeMap<(String, String, CurveMetric, String), Merged>,
}

struct Merged {
    kind: PhaseKind,
    histogram: Histogram<u64>,
    blocks: Vec<u32>,
    validity: Validity,
}

impl Curves {
    /// Adds the histograms of a phase whose latency is not invalid.
    pub(crate) fn add(
        &mut self,
        trial: &Trial,
        phase: &PhaseRecord,
        digest: &Digest,
        validity: Validity,
    ) {
        for metric in plotted(kind(phase)) {
            let Some(histogram) = digest.get(&phase.name, *metric) else {
                continue;
            };
            let key = (
                trial.scenario.clone(),
                phase.name.clone(),
                *metric,
                trial.variant.clone(),
            );
            let merged = self.merged.entry(key).or_insert_with(|| {
                // The sum grows to the range of the widest histogram; because the lowest
                // discernible value is 1 ns, no precision is lost.
                let mut empty = Histogram::new_from(histogram);
                empty.auto(true);
                Merged {
                    kind: kind(phase),
                    histogram: empty,
                    blocks: Vec::new(),
                    validity,
                }
            });
            if merged.histogram.add(histogram).is_ok() {
                merged.blocks.push(trial.block);
                merged.validity = merged.validity.max(validity);
            }
        }
    }

    /// The curves of a scenario by phase and metric, with phases and variants in the given order.
    pub(crate) fn of_scenario(&self, names: &Names) -> Vec<PercentileCurve> {
        let place = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
        let mut curves: Vec<_> = self
            .merged
            .iter()
            .filter(|((of, ..), _)| of == names.scenario)
            .filter_map(|((_, phase, metric, variant), merged)| {
                merged.curve(phase, *metric, variant)
            })
            .collect();
        curves.sort_by_key(|curve| {
            let phase = place(&names.phases, &curve.phase);
            let variant = place(&names.variants, &curve.variant);
            (phase, curve.metric, variant)
        });
        curves
    }
}

impl Merged {
    fn curve(&self, phase: &str, metric: CurveMetric, variant: &str) -> Option<PercentileCurve> {
        let trusted_percentile = highest_trustworthy_percentile(self.histogram.len())?;
        let mut blocks = self.blocks.clone();
        blocks.sort_unstable();
        Some(PercentileCurve {
            variant: variant.to_owned(),
            phase: phase.to_owned(),
            kind: self.kind,
            metric,
            label: format!("{variant}, {}", metric.word()),
            samples: self.histogram.len(),
            trusted_percentile,
            blocks,
            validity: self.validity,
            points: points(&self.histogram, trusted_percentile),
        })
    }
}

fn plotted(kind: PhaseKind) -> &'static [CurveMetric] {
    match kind {
        PhaseKind::SideBySide => &[],
        PhaseKind::Closed | PhaseKind::Paced => &[CurveMetric::Response],
        PhaseKind::Open => &CurveMetric::ALL,
    }
}

/// Points evenly spaced on a logarithmic axis of the share of samples beyond them; the last one is
/// the highest trusted percentile.
fn points(histogram: &Histogram<u64>, trusted_percentile: f64) -> Vec<CurvePoint> {
    let grid = (0..)
        .map(|step| 100.0 * (1.0 - 10_f64.powf(-f64::from(step) / f64::from(POINTS_PER_DECADE))))
        .take_while(|percentile| *percentile < trusted_percentile);
    grid.chain([trusted_percentile])
        .map(|percentile| CurvePoint {
            percentile,
            latency_ns: histogram.value_at_quantile(percentile / 100.0),
        })
        .collect()
}
