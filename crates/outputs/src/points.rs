//! The values of series, before they are encoded.

use std::collections::BTreeMap;

use crate::distribution::Distribution;
use crate::facts::Fact;
use crate::metric::Metric;

pub(crate) struct Point<'a> {
    pub(crate) metric: &'static Metric,
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) at: At,
    /// True for the first point of a series; the value of a counter was 0 before it. Always false
    /// for a counter that may have started before the load.
    pub(crate) begins: bool,
    pub(crate) value: Value<'a>,
}

/// The time of a point, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    /// The start of the load.
    pub(crate) begin_ns: u64,
    /// The start of the period that the point covers, usually a second.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl At {
    pub(crate) fn of(fact: &Fact, begin_ns: u64) -> Self {
        Self {
            begin_ns,
            from_ns: fact.from_ns,
            to_ns: fact.to_ns,
        }
    }

    pub(crate) fn start_ms(self) -> i64 {
        in_ms(self.from_ns)
    }

    pub(crate) fn end_ms(self) -> i64 {
        in_ms(self.to_ns)
    }
}

fn in_ms(at_ns: u64) -> i64 {
    (at_ns / 1_000_000) as i64
}

/// A value: the current value of a gauge; otherwise the total since the start of the series and the
/// increase in the period of the point.
pub(crate) enum Value<'a> {
    Counter {
        total: f64,
        gained: f64,
    },
    Gauge(f64),
    /// A gauge whose series has ended.
    Stale,
    Rate {
        total: Cases,
        gained: Cases,
    },
    Trend {
        total: &'a Distribution,
        gained: &'a Distribution,
    },
    /// A trend whose series has ended with this total.
    StaleTrend(&'a Distribution),
}

/// The total number of cases, and the number of cases that have a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cases {
    pub(crate) with: u64,
    pub(crate) all: u64,
}

impl Cases {
    pub(crate) fn share(self) -> f64 {
        self.with as f64 / self.all.max(1) as f64
    }
}
