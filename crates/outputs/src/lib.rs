//! Encodes the facts about each second for a metrics server as Prometheus remote write, OTLP,
//! InfluxDB line protocol, JSON lines or OpenMetrics text.
//!
//! An [`Encoder`] takes [`Fact`]s in chronological order and returns bytes in its [`Format`]. It
//! keeps the totals from which counters and percentiles are computed. The bytes of successive facts
//! can be concatenated into one valid body, which [`Format::finished`] compresses if the format
//! requires that. Metrics that k6 also has use k6's names, units and labels. The metrics that
//! gatebench adds have the prefix `gatebench_`.
//!
//! This crate does no I/O and reads no clock: all times come from the facts.

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

/// The protobuf messages of the wire formats, for decoding the output of an encoder.
pub mod wire {
    pub use crate::otlp::messages as otlp;
    pub use crate::remote_write::messages as remote_write;
}
