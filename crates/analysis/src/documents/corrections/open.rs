//! Corrections of the Gravitee tables, whose load is a rate that rises.

use gatebench_store::StoreError;

use super::super::measured::{Load, median_of};
use super::super::sizings::{Line, at_peak_ns, peak_rate};
use super::{effect, or_untold};
use crate::findings::{Aspect, Correction, CorrectionRow, Unit, Validity};

/// What is corrected in a document of rising rates.
pub(in super::super) fn of_sizings(lines: &[Line<'_>]) -> Result<Vec<Correction>, StoreError> {
    Ok(vec![peak(lines), cumulative(lines)?, dropped(lines)])
}

fn peak(lines: &[Line<'_>]) -> Correction {
    let row = |line: &Line<'_>| {
        let peak = median_of(&line.ramp, Aspect::Throughput, peak_rate);
        let mean = median_of(&line.ramp, Aspect::Throughput, Load::rate);
        effect(line.label, peak, mean)
    };
    let correction = Correction {
        title: "The peak of a ramp as the rate",
        published: "RPS is the highest point of a graph, held for 10 s at the end of a rise of 2 min. The mean of what was sent is 55 \
                    to 67 % of it."
            .into(),
        here: "Both are told: the best seconds, and the mean of the whole measurement.",
        heads: ["peak", "mean"],
        unit: Unit::RequestsPerSecond,
        rows: lines.iter().filter_map(row).collect(),
        untold: None,
    };
    or_untold(correction, "Nothing was measured.")
}

fn cumulative(lines: &[Line<'_>]) -> Result<Correction, StoreError> {
    let mut rows: Vec<CorrectionRow> = Vec::new();
    for line in lines {
        let whole = median_of(&line.ramp, Aspect::Latency, |it| it.response_ns(95.0));
        rows.extend(effect(line.label, whole, median_at_peak(&line.ramp)?));
    }
    let correction = Correction {
        title: "Percentiles since the beginning of the ramp",
        published: "The percentiles beside the peak are over all requests since the ramp began, most of them at a fraction of that \
                    rate, and those of several load agents are not added up: one row prints a p95 of 9.76 ms above a p99 of 8.77 ms, \
                    which cannot be."
            .into(),
        here: "Histograms are added and percentiles read off the sum; those of the peak's seconds are told apart.",
        heads: ["p95 of the whole", "p95 of the peak"],
        unit: Unit::Nanoseconds,
        rows,
        untold: None,
    };
    Ok(or_untold(
        correction,
        "Too few answers lie beyond the percentile in the seconds of the peak.",
    ))
}

fn median_at_peak(loads: &[Load<'_>]) -> Result<Option<f64>, StoreError> {
    let mut values = Vec::new();
    let usable = |it: &&Load<'_>| it.validity(Some(Aspect::Latency)) != Validity::Invalid;
    for load in loads.iter().filter(usable) {
        values.extend(at_peak_ns(load, 95.0)?);
    }
    Ok(gatebench_stats::median(&values))
}

fn dropped(lines: &[Line<'_>]) -> Correction {
    let row = |line: &Line<'_>| {
        let counts = || line.ramp.iter().map(|it| &it.phase.counts);
        let intended: u64 = counts().map(|it| it.intended).sum();
        let sent: u64 = counts().map(|it| it.sent).sum();
        let known = (intended > 0).then_some(());
        effect(
            line.label,
            known.map(|()| sent as f64),
            known.map(|()| intended as f64),
        )
    };
    let correction = Correction {
        title: "Arrivals that were never sent",
        published: "The number of users is capped (10 to 200), so that beyond it the tool drops arrivals; how many is not told, and \
                    what was not sent has no latency."
            .into(),
        here: "An arrival waits for a free connection and its wait counts; what is dropped is counted, and makes the latency invalid.",
        heads: ["sent", "due"],
        unit: Unit::Count,
        rows: lines.iter().filter_map(row).collect(),
        untold: None,
    };
    or_untold(correction, "Nothing was measured.")
}
