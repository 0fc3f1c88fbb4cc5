//! The processes of a trial next to its gateway: upstreams, a Redis, and external load generators.
//!
//! This module knows neither a gateway nor the meaning of a load generator's arguments and output.

mod generator;
mod redis;
mod upstream;

use std::net::SocketAddr;

pub use generator::{GeneratorStart, ask_generator};
pub use redis::FoundRedis;
pub(crate) use redis::RedisStart;
pub use upstream::UpstreamStart;

use crate::process::Supervised;

/// A listening upstream or Redis. Dropping it stops the process.
#[derive(Debug)]
pub struct Service {
    pub process: Supervised,
    /// The address on which it listens.
    pub addr: SocketAddr,
}
