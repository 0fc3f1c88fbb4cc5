//! The parts common to all studies: the figures of trials, the gates that judge them, and
//! comparisons.

pub(crate) mod changes;
pub(crate) mod collect;
pub(crate) mod comparisons;
pub(crate) mod context;
pub(crate) mod cpu;
pub(crate) mod curves;
pub(crate) mod digest;
pub(crate) mod external_results;
pub mod facts;
pub(crate) mod gates;
pub(crate) mod groups;
pub mod loads;
pub(crate) mod metrics;
pub(crate) mod shares;
pub(crate) mod spoiled;
pub(crate) mod summary_table;
pub(crate) mod trials;
pub(crate) mod wire;

use gatebench_store::Histogram;

/// The names of a scenario, its phases and its variants, in the order in which reports show them.
pub(crate) struct Names<'a> {
    pub(crate) scenario: &'a str,
    pub(crate) phases: Vec<&'a str>,
    pub(crate) variants: Vec<&'a str>,
}

impl<'a> Names<'a> {
    /// All combinations of phase and variant, phase by phase.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let of = |phase: &'a str| self.variants.iter().map(move |variant| (phase, *variant));
        self.phases.iter().flat_map(move |phase| of(phase))
    }
}

/// Groups values by key. Keys are in the order of their first occurrence, and the values of each
/// key keep their order.
pub(crate) fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

pub(crate) fn joined<T: ToString>(parts: impl IntoIterator<Item = T>, separator: &str) -> String {
    let parts: Vec<String> = parts.into_iter().map(|it| it.to_string()).collect();
    parts.join(separator)
}

/// The sum of histograms, whose ranges may differ; `None` without histograms.
pub(crate) fn sum_of<'a>(
    histograms: impl IntoIterator<Item = &'a Histogram<u64>>,
) -> Option<Histogram<u64>> {
    let mut histograms = histograms.into_iter();
    let mut sum = histograms.next()?.clone();
    sum.auto(true);
    for histogram in histograms {
        // A histogram that resizes itself accepts every value of another one.
        let _ = sum.add(histogram);
    }
    Some(sum)
}
