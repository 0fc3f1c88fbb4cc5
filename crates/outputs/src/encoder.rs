//! Converts facts to bytes.

use crate::facts::Fact;
use crate::influx::Influx;
use crate::json;
use crate::otlp::Otlp;
use crate::remote_write::{self, RemoteWrite};
use crate::stat::Stat;
use crate::totals::{Duration, Totals};

/// A format with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    RemoteWrite {
        /// The statistics of trends that are sent as gauges.
        stats: Vec<Stat>,
        /// The schema of the native histograms that are sent instead of these gauges, if any.
        native: Option<i32>,
        /// True if each series of gauges ends with a stale marker.
        stale_markers: bool,
    },
    Otlp {
        /// The `service.name` of the resource.
        service: String,
        /// The prefix for the names of k6's metrics.
        prefix: String,
    },
    Influx {
        /// The initial number of requests per point; `None` to derive it from the first second.
        sampling: Option<u64>,
    },
    JsonLines,
}

impl Format {
    /// Compresses a remote write body; returns other bodies unchanged.
    pub fn finished(&self, body: Vec<u8>) -> Vec<u8> {
        match self {
            Self::RemoteWrite { .. } => remote_write::compressed(&body),
            Self::Otlp { .. } | Self::Influx { .. } | Self::JsonLines => body,
        }
    }
}

/// Encodes the facts of a run.
#[derive(Debug)]
pub struct Encoder {
    totals: Totals,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    RemoteWrite(RemoteWrite),
    Otlp(Otlp),
    Influx(Influx),
    JsonLines,
}

impl Encoder {
    pub fn new(format: &Format, duration: Duration) -> Self {
        let writer = match format {
            Format::RemoteWrite {
                stats,
                native,
                stale_markers,
            } => Writer::RemoteWrite(RemoteWrite::new(stats, *native, *stale_markers)),
            Format::Otlp { service, prefix } => Writer::Otlp(Otlp::new(service, prefix)),
            Format::Influx { sampling } => Writer::Influx(Influx::new(*sampling)),
            Format::JsonLines => Writer::JsonLines,
        };
        Self {
            totals: Totals::new(duration),
            writer,
        }
    }

    /// Encodes the next fact and returns its part of a body, which may be empty.
    pub fn encode(&mut self, fact: &Fact) -> Vec<u8> {
        let totals = &mut self.totals;
        match &mut self.writer {
            Writer::RemoteWrite(writer) => {
                totals.take(fact, &mut |point| writer.point(point));
                writer.take()
            }
            Writer::Otlp(writer) => {
                totals.take(fact, &mut |point| writer.point(point));
                writer.take()
            }
            Writer::Influx(writer) => {
                writer.begin(fact);
                totals.take(fact, &mut |point| writer.point(point));
                writer.take()
            }
            Writer::JsonLines => json::line(fact).unwrap_or_default(),
        }
    }
}
