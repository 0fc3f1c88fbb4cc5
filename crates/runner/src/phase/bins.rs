//! Divides a measurement into bins of a tenth of a second, each with its responses and CPU time, so
//! that a few seconds are enough to test for a steady state.

use gatebench_store::BinsRecord;

pub(crate) const BIN_NS: u64 = 100_000_000;

/// The maximum number of bins of a measurement. A measurement that would need more has no bins; the
/// test for a steady state then uses the measurement's seconds.
const BINS_MAX: u64 = 6_000;

/// A glance at a load: those of its cumulative figures that can be read at little cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glance {
    /// The time on `CLOCK_MONOTONIC`.
    pub(crate) at_ns: u64,
    pub(crate) responses: u64,
    /// `None` for the direct variant, for an attached gateway whose process is unknown, and for a
    /// gateway on another host, whose CPU time cannot be read that often.
    pub(crate) gateway_cpu_ns: Option<u64>,
    /// `None` if the upstream has several targets, or is not started by gatebench on this machine.
    pub(crate) upstream_cpu_ns: Option<u64>,
}

/// Returns the time of a bin's edge, counted from the start of the measurement; `None` after the
/// last edge, and for a measurement that is too long for bins.
pub(crate) fn edge_offset_ns(index: usize, measure_ns: u64) -> Option<u64> {
    if measure_ns / BIN_NS > BINS_MAX {
        return None;
    }
    let offset_ns = index as u64 * BIN_NS;
    (offset_ns <= measure_ns).then_some(offset_ns)
}

/// Returns the bins between the glances. The first glance is taken at the start of the measurement.
/// If a glance was so late that the following glance was skipped, the bin that ends with the late
/// glance is longer.
pub(crate) fn record(glances: &[Glance]) -> Option<BinsRecord> {
    let begin_ns = glances.first()?.at_ns;
    let between = |pick: fn(&Glance) -> Option<u64>| {
        let pairs = glances.windows(2);
        let steps = pairs.map(|pair| Some(pick(&pair[1])?.saturating_sub(pick(&pair[0])?)));
        steps.collect::<Option<Vec<u64>>>()
    };
    (glances.len() > 1).then(|| BinsRecord {
        ends_ns: glances[1..].iter().map(|it| it.at_ns - begin_ns).collect(),
        responses: between(|it| Some(it.responses)).unwrap_or_default(),
        gateway_cpu_ns: between(|it| it.gateway_cpu_ns).unwrap_or_default(),
        upstream_cpu_ns: between(|it| it.upstream_cpu_ns).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_differences_and_unobserved_components_are_empty() {
        let glance = |at_ns, responses, cpu_ns| Glance {
            at_ns,
            responses,
            gateway_cpu_ns: None,
            upstream_cpu_ns: Some(cpu_ns),
        };
        let bins = record(&[
            glance(50, 3, 100),
            glance(150, 10, 170),
            glance(260, 11, 180),
        ]);
        let bins = bins.unwrap();
        assert_eq!(bins.ends_ns, [100, 210]);
        assert_eq!(bins.responses, [7, 1]);
        assert_eq!(bins.upstream_cpu_ns, [70, 10]);
        assert!(bins.gateway_cpu_ns.is_empty());
        assert_eq!(record(&[glance(50, 3, 100)]), None);
    }

    #[test]
    fn edges_are_due_each_tenth_of_a_second_and_not_in_a_soak() {
        assert_eq!(edge_offset_ns(20, 2_000_000_000), Some(2_000_000_000));
        assert_eq!(edge_offset_ns(21, 2_000_000_000), None);
        assert_eq!(edge_offset_ns(0, 86_400_000_000_000), None);
    }
}
