//! Derives the shape of the load from the flags.

use std::time::Duration;

use gatebench_model::load::{Change, Closed, ConnectionStage, Open, RateStage, Spread};
use gatebench_model::{HumanDuration, Shape};
use gatebench_report::Unit;
use gatebench_report::format::{counted, grouped, quantity, three_figures};

use super::flags::{ConnectionFlags, ShapeFlags};
use super::values::stage::Stage;
use crate::failure::Failure;

/// The default number of connections of a closed load, as in hey and oha.
const CONNECTIONS: u32 = 50;
/// The minimum and the maximum of the default number of connections of an open load, before the
/// number is divided by the number of streams. Within these bounds, the connections suffice for a
/// target that stalls for a second.
const CONNECTIONS_AT_RATE: (f64, f64) = (64.0, 1_000.0);
const DURATION: HumanDuration = HumanDuration::from_millis(10_000);
const WARM_UP: HumanDuration = HumanDuration::from_millis(1_000);
/// The default time limit of a load that ends after a number of requests.
const DURATION_OF_REQUESTS: HumanDuration = HumanDuration::from_millis(24 * 3_600_000);

/// The schedule of a load.
#[derive(Debug, PartialEq)]
pub struct Timing {
    pub shape: Shape,
    /// The warm-up, whose results are discarded.
    pub warm_up: Duration,
    /// The measurement; with a number of requests, its time limit.
    pub measure: Duration,
}

impl Timing {
    pub fn is_open(&self) -> bool {
        matches!(self.shape, Shape::Open(_))
    }

    /// The number of requests after which the load ends, if one was given.
    pub fn requests(&self) -> Option<u64> {
        match &self.shape {
            Shape::Closed(closed) => closed.requests_max,
            Shape::Open(open) => open.requests_max,
        }
    }

    /// Describes the load: `closed: 50 connections, 10s after 1s of warm-up`.
    pub fn in_words(&self, handshakes: bool) -> String {
        let load = match &self.shape {
            Shape::Closed(closed) => closed_in_words(closed),
            Shape::Open(open) => open_in_words(open, handshakes),
        };
        let until = match self.requests() {
            Some(requests) => counted(requests, "request"),
            None => in_time(self.measure),
        };
        if self.warm_up.is_zero() {
            return format!("{load}, {until} without warm-up");
        }
        format!("{load}, {until} after {} of warm-up", in_time(self.warm_up))
    }
}

/// Formats a duration: `1.5s`, `10s`, `5m`, `250ms`.
fn in_time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if (1.0..120.0).contains(&seconds) {
        format!("{seconds}s")
    } else {
        HumanDuration(duration).to_string()
    }
}

fn closed_in_words(closed: &Closed) -> String {
    let connections = u64::from(closed.connections);
    let mut words = format!("closed: {}", counted(connections, "connection"));
    for stage in &closed.stages {
        words += &format!(
            ", to {} in {}",
            grouped(f64::from(stage.connections)),
            in_time(stage.over.0)
        );
    }
    if closed.think.is_some() {
        words += ", with think time";
    }
    words + &connecting(closed.connections, closed.connections_per_second)
}

/// Describes the time that opening the connections takes; empty if they are opened all at once.
fn connecting(connections: u32, per_second: Option<f64>) -> String {
    per_second.map_or(String::new(), |rate| {
        let took = Duration::from_secs_f64(f64::from(connections) / rate);
        let took = quantity(took.as_nanos() as f64, Unit::Nanoseconds);
        format!(", connecting takes {took}")
    })
}

fn open_in_words(open: &Open, handshakes: bool) -> String {
    let rate = |rate: f64| {
        if rate < 100.0 {
            three_figures(rate)
        } else {
            grouped(rate)
        }
    };
    let noun = if handshakes {
        "connections"
    } else {
        "requests"
    };
    let mut words = format!("open: {} {noun}/s", rate(open.rate_per_second));
    if let Some(end) = open.ramp_to_per_second {
        words += &format!(" to {}", rate(end));
    }
    for stage in &open.stages {
        let how = match stage.how {
            Change::Linear => "in",
            Change::Step => "at once for",
        };
        words += &format!(", to {} {how} {}", rate(stage.rate_per_second), stage.over);
    }
    if open.arrivals == Spread::Poisson {
        words += ", Poisson arrivals";
    }
    let comma = if words.contains(", ") { "," } else { "" };
    let connections = counted(u64::from(open.connections_max), "connection");
    words += &match handshakes {
        true => format!(", at most {connections} at a time"),
        false => format!("{comma} on {connections}"),
    };
    words + &connecting(open.connections_max, open.connections_per_second)
}

impl ShapeFlags {
    /// Without -c, there is at least one connection for each worker.
    pub fn timing(&self, connections: &ConnectionFlags, workers: u32) -> Result<Timing, Failure> {
        let shape = match self.rate {
            Some(rate) => Shape::Open(self.open(rate, connections, workers)),
            None => Shape::Closed(self.closed(connections, workers)?),
        };
        let measure = self.measure();
        if measure.0.is_zero() {
            return Err(Failure::words(
                "--duration",
                "the duration is zero",
                "write at least 1ms",
            ));
        }
        let warm_up = match self.requests {
            Some(_) => HumanDuration::default(),
            None => self.warm_up.unwrap_or(WARM_UP),
        };
        Ok(Timing {
            shape,
            warm_up: warm_up.0,
            measure: measure.0,
        })
    }

    fn measure(&self) -> HumanDuration {
        let stages: Duration = self.stages.iter().map(|stage| stage.over.0).sum();
        match (self.duration, self.requests) {
            (Some(duration), _) => duration,
            (None, Some(_)) => DURATION_OF_REQUESTS,
            (None, None) if self.stages.is_empty() => DURATION,
            (None, None) => HumanDuration(stages),
        }
    }

    fn closed(&self, connections: &ConnectionFlags, workers: u32) -> Result<Closed, Failure> {
        let most = self
            .requests
            .map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        if let Some(given) = self.connections.filter(|given| *given > most) {
            return Err(Failure::words(
                "--connections",
                format!(
                    "{} cannot share {}",
                    counted(given.into(), "connection"),
                    counted(most.into(), "request")
                ),
                format!("use -c {most} or less, or increase the number of requests (-n)"),
            ));
        }
        let stage = |stage: &Stage| {
            if stage.how == Change::Step || stage.target.fract() != 0.0 || stage.target > 1e6 {
                return Err(Failure::words(
                    "--stage",
                    "without --rate, a stage is a whole number of connections, at most 1000000, reached linearly",
                    "write CONNECTIONS:TIME, for example 200:30s, or add --rate",
                ));
            }
            Ok(ConnectionStage {
                connections: stage.target as u32,
                over: stage.over,
            })
        };
        Ok(Closed {
            stages: self.stages.iter().map(stage).collect::<Result<_, _>>()?,
            think: self.think.clone(),
            requests_max: self.requests,
            requests_per_connection: connections.requests_per_connection,
            connections_per_second: connections.connection_rate,
            ..Closed::new(
                self.connections
                    .unwrap_or_else(|| CONNECTIONS.min(most).max(workers)),
            )
        })
    }

    fn open(&self, rate: f64, connections: &ConnectionFlags, workers: u32) -> Open {
        let stage = |stage: &Stage| RateStage {
            rate_per_second: stage.target,
            over: stage.over,
            how: stage.how,
        };
        let connections_max = self
            .connections
            .unwrap_or_else(|| self.connections_at(rate, connections.streams).max(workers));
        Open {
            ramp_to_per_second: self.ramp_to,
            stages: self.stages.iter().map(stage).collect(),
            arrivals: self.arrivals,
            connections_max,
            queue_max: self.queue_max,
            requests_max: self.requests,
            requests_per_connection: connections.requests_per_connection,
            connections_per_second: connections.connection_rate,
            ..Open::new(rate)
        }
    }

    /// Returns the default number of connections: the number of arrivals in one second at the
    /// highest rate of the load, clamped to [`CONNECTIONS_AT_RATE`] and divided by the number of
    /// streams.
    fn connections_at(&self, rate: f64, streams: u32) -> u32 {
        let rates = self.stages.iter().map(|stage| stage.target);
        let highest = rates.chain(self.ramp_to).fold(rate, f64::max);
        let (least, most) = CONNECTIONS_AT_RATE;
        (highest.clamp(least, most) as u32).div_ceil(streams.max(1))
    }
}
