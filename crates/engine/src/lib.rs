//! The load engine: sends requests on an absolute schedule or whenever a response arrives, and
//! records the responses and their times.
//!
//! The engine is independent of gateways, policies, files and terminals. Before the start, [`run`]
//! renders the requests of a [`Load`] to bytes, except for values that are drawn for each request.
//! Every worker owns its loop, its connections and its record. It hands over the record of each
//! finished second through a queue, so the memory that a load needs does not depend on its length.

mod bare;
mod check;
mod compiled;
mod connection;
mod control;
mod cost;
mod counts;
mod data;
mod error;
pub mod gzip;
mod http2;
mod kept_body;
mod kind;
mod layer;
mod load;
mod merge;
mod outcome;
mod population;
mod random;
mod record;
mod recorder;
mod recording;
mod render;
mod request_mix;
mod response;
mod route;
mod run;
mod sampler;
mod schedule;
#[cfg(test)]
mod simulated;
mod template;
mod upstream_clock;
mod worker;

pub use bare::{Bare, Carried};
pub use check::failed_checks;
pub use control::{Control, Live};
pub use counts::Counts;
pub use data::{DataError, DataSet};
pub use error::{ConnectError, EngineError};
pub use kind::{Class, ErrorKind, Metric};
pub use layer::ProxyProtocol;
pub use load::{Group, Load, Part, Protocol, Target};
pub use merge::Merge;
pub use outcome::{GroupOutcome, Outcome, WorkerFacts};
pub use population::{Population, ThinkTimes};
pub use record::{FirstRequest, Interval};
pub use recording::{HIGHEST_NS, Recording, Recordings};
pub use render::sample;
pub use request_mix::Mix;
pub use route::RouteRecord;
pub use run::run;
pub use schedule::{Arrivals, Schedule};
pub use upstream_clock::Halves;
