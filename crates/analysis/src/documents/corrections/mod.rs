//! What is done otherwise than in the documents, each with its effect on the run's own figures.

mod closed;
mod framework;
mod open;

pub(super) use closed::of_policies;
pub(super) use framework::of_versions;
pub(super) use open::of_sizings;

use super::artefacts::in_steps;
use super::measured::{Load, median_of};
use crate::findings::{Aspect, Correction, CorrectionRow, Unit};

/// A timer that ticks every 10 ms.
const SIEGE_STEP_NS: f64 = 10e6;

/// The effect on a row; none where either side is not known.
fn effect(name: &str, their_way: Option<f64>, measured: Option<f64>) -> Option<CorrectionRow> {
    let (their_way, measured) = (their_way?, measured?);
    Some(CorrectionRow {
        name: name.to_owned(),
        their_way,
        measured,
        ratio: (measured > 0.0).then(|| their_way / measured),
    })
}

/// Adds why there is no effect to see, where there is none.
fn or_untold(correction: Correction, why: &str) -> Correction {
    let untold = correction.rows.is_empty().then(|| why.to_owned());
    Correction {
        untold,
        ..correction
    }
}

/// The sweep's tool tells times in hundredths of a second.
pub(super) fn of_sweep(rows: &[(String, Vec<Load<'_>>)]) -> Vec<Correction> {
    let row = |(name, loads): &(String, Vec<Load<'_>>)| {
        let mean = median_of(loads, Aspect::Latency, Load::mean_ns);
        effect(name, mean.map(|it| in_steps(it, SIEGE_STEP_NS)), mean)
    };
    let correction = Correction {
        title: "A timer of 10 ms",
        published: "The load tool prints response times in hundredths of a second: 0.00 in every row of the sweep, so nothing \
                    of how long a gateway takes could be told."
            .into(),
        here: "Times are taken in nanoseconds, and histograms keep three digits of each.",
        heads: ["mean in 10 ms", "mean"],
        unit: Unit::Nanoseconds,
        rows: rows.iter().filter_map(row).collect(),
        untold: None,
    };
    vec![or_untold(correction, "No response time was measured.")]
}
