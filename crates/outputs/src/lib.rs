//! Encodes the facts about each second for a metrics server: Prometheus remote write, OTLP,
//! InfluxDB line protocol, JSON lines, and OpenMetrics text.
//!
//! An [`Encoder`] takes [`Fact`]s in chronological order and returns bytes in its [`Format`]. It
//! keeps the totals that counters and percentiles need. The bytes of several successive facts form
//! one valid body, so a sender may collect them; [`Format::finished`] compresses a body if the
//! format requires that. The names, units and labels are those of k6; gatebench adds its own
//! metrics with the prefix `gatebench_`.
//!
//! There is no I/O and no clock here: all times come from the facts.

pub mod dashboard;
mod distribution;
mod encoder;
mod exponential;
mod facts;
mod influx;
mod json;
mod labels;
mod metric;
mod open_metrics;
mod otlp;
mod points;
mod remote_write;
mod stat;
mod totals;

pub use distribution::Distribution;
pub use encoder::{Encoder, Format};
pub use facts::{Class, Component, Fact, Load, Own, Second, Trend, Usage, Validity, What};
pub use open_metrics::OpenMetrics;
pub use stat::{Stat, StatError};
pub use totals::Duration;

/// The messages of the wire formats, for decoding the output of an encoder.
pub mod wire {
    pub use crate::otlp::messages as otlp;
    pub use crate::remote_write::messages as remote_write;
}
