//! The load engine: sends requests on an absolute schedule or as fast as answers come, and records
//! what came back and when.
//!
//! It knows no gateway, no policy, no file and no terminal. [`run`] takes a [`Load`], renders its
//! requests to bytes and splits its schedule before the start; then every worker owns its loop, its
//! connections and its record. Each second a worker hands the finished record out through a queue, so a
//! day needs no more memory than a minute.

mod answer;
mod bare;
mod book;
mod check;
mod connect_error;
mod connection;
mod cost;
mod counts;
mod data;
mod draw;
pub mod gzip;
mod http2;
mod kept_body;
mod kind;
mod layer;
mod load;
mod mix;
mod outcome;
mod population;
mod random;
mod record;
mod recording;
mod render;
mod route;
mod run;
mod schedule;
#[cfg(test)]
mod simulated;
mod template;
mod worker;

pub use bare::{Bare, Carried};
pub use check::failed_checks;
pub use connect_error::ConnectError;
pub use counts::Counts;
pub use data::{DataError, DataSet};
pub use draw::Draw;
pub use kind::{Class, ErrorKind, Metric};
pub use layer::ProxyProtocol;
pub use load::{Group, Load, Protocol, Target};
pub use mix::Mix;
pub use outcome::{GroupOutcome, Outcome, Recordings, WorkerFacts};
pub use population::{Population, ThinkTimes};
pub use record::Interval;
pub use recording::{HIGHEST_NS, Recording};
pub use render::sample;
pub use route::RouteRecord;
pub use run::{Control, EngineError, Live, run};
pub use schedule::{Arrivals, Schedule};
