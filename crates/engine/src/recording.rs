//! Histograms of times, by metric and class.

use std::collections::BTreeMap;

use hdrhistogram::{Counter, Histogram};

use crate::kind::{Class, Metric};

/// The highest latency in a histogram, 60 s. Higher ones are clamped to it and counted as clamped.
pub const HIGHEST_NS: u64 = 60_000_000_000;
/// The precision of the histograms of a load and its groups.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The lowest value that a route's histogram must distinguish from 0.
const ROUTE_LOWEST_NS: u64 = 1_000;
/// The precision of a route's histogram. Values are accurate to 1 % or to [`ROUTE_LOWEST_NS`],
/// whichever is larger. With three digits, a histogram would take several times as much memory, and
/// a load may have a thousand routes.
const ROUTE_SIGNIFICANT_DIGITS: u8 = 2;

/// Recordings by metric and class.
pub type Recordings = BTreeMap<(Metric, Class), Recording>;

pub(crate) fn add(to: &mut Recordings, key: (Metric, Class), recording: &Recording) {
    to.entry(key)
        .and_modify(|total| total.add(recording))
        .or_insert_with(|| recording.clone());
}

/// A histogram, with the exact sum, minimum and maximum, which the buckets would round.
#[derive(Clone, Debug)]
pub struct Recording<C: Counter = u64> {
    /// Values in nanoseconds with 3 significant digits (2 for a route).
    pub histogram: Histogram<C>,
    pub sum_ns: u128,
    /// The exact minimum; `u64::MAX` if nothing was recorded.
    pub min_ns: u64,
    /// The exact maximum, before clamping.
    pub max_ns: u64,
    /// The number of values above [`HIGHEST_NS`], which are recorded as [`HIGHEST_NS`].
    pub clamped: u64,
}

impl Default for Recording {
    fn default() -> Self {
        Self::new()
    }
}

impl Recording {
    /// Creates an empty recording for a load or a group.
    pub fn new() -> Self {
        Self::with_bounds(1, SIGNIFICANT_DIGITS)
    }
}

impl Recording<u32> {
    pub(crate) fn of_route() -> Self {
        Self::with_bounds(ROUTE_LOWEST_NS, ROUTE_SIGNIFICANT_DIGITS)
    }
}

impl<C: Counter> Recording<C> {
    fn with_bounds(lowest_ns: u64, digits: u8) -> Self {
        let histogram = Histogram::new_with_bounds(lowest_ns, HIGHEST_NS, digits)
            .expect("the bounds are constants that the histogram accepts");
        Self {
            histogram,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            clamped: 0,
        }
    }

    pub(crate) fn record(&mut self, value_ns: u64) {
        self.histogram.saturating_record(value_ns);
        self.sum_ns += u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.clamped += u64::from(value_ns > HIGHEST_NS);
    }

    /// Records a value `count` times. The value must not exceed [`HIGHEST_NS`].
    pub(crate) fn record_n(&mut self, value_ns: u64, count: C) {
        if count == C::zero() {
            return;
        }
        self.histogram.saturating_record_n(value_ns, count);
        self.sum_ns += u128::from(value_ns) * u128::from(count.as_u64());
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Returns the values that are not in `part`. Their minimum and maximum are bucket values,
    /// limited to the exact range of the whole.
    pub(crate) fn without(&self, part: &Self) -> Self {
        let mut rest = self.clone();
        if part.histogram.is_empty() {
            return rest;
        }
        rest.histogram
            .subtract(&part.histogram)
            .expect("a part has the bounds of the whole, and no value that the whole lacks");
        rest.sum_ns -= part.sum_ns;
        rest.clamped -= part.clamped;
        if rest.histogram.is_empty() {
            (rest.min_ns, rest.max_ns) = (u64::MAX, 0);
        } else {
            rest.min_ns = rest.histogram.min().max(self.min_ns);
            rest.max_ns = rest.histogram.max().min(self.max_ns);
        }
        rest
    }

    pub fn add(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.clamped += other.clamped;
    }

    pub(crate) fn clear(&mut self) {
        self.histogram.reset();
        (self.sum_ns, self.min_ns, self.max_ns, self.clamped) = (0, u64::MAX, 0, 0);
    }
}
