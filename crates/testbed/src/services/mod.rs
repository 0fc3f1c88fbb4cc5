//! The processes of a trial other than its gateway: upstreams, Redis, and external load generators.
//!
//! This module knows neither gateways nor the meaning of a load generator's arguments and output.

mod generator;
mod redis;
mod upstream;

use std::net::SocketAddr;

pub(crate) use generator::GENERATOR_NOFILE;
pub use generator::ask_generator;
pub use redis::FoundRedis;
pub(crate) use redis::start_redis;
pub use upstream::UpstreamStart;

pub use crate::process::PlainStart as GeneratorStart;
use crate::process::Supervised;

/// A listening upstream or Redis. Dropping it stops the process.
#[derive(Debug)]
pub struct Service {
    pub process: Supervised,
    /// The address on which it listens.
    pub addr: SocketAddr,
}
