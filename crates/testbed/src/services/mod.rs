//! The processes of a trial other than its gateway: upstreams, Redis, PostgreSQL, and external load
//! generators.
//!
//! This module knows nothing about gateways or about the meaning of a load generator's arguments
//! and output.

mod postgres;
mod redis;
mod upstream;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::DriverError;
use crate::process::Supervised;
use crate::system::command;

pub use crate::process::PlainStart as GeneratorStart;
pub(crate) use postgres::start_postgres;
pub use redis::FoundRedis;
pub(crate) use redis::start_redis;
pub use upstream::UpstreamStart;

/// A listening upstream, Redis or PostgreSQL. Dropping it stops the process.
#[derive(Debug)]
pub struct Service {
    pub process: Supervised,
    /// The address on which the service listens.
    pub addr: SocketAddr,
}

/// The limit on a load generator's open descriptors, unless the machine's hard limit is lower.
pub(crate) const GENERATOR_NOFILE: u64 = 1_048_576;

/// Runs a short command of a load generator. Returns whether the command succeeded, and its output.
///
/// # Errors
/// The command cannot be started, or does not end within `timeout`.
pub fn ask_generator(
    program: &Path,
    arguments: &[&str],
    timeout: Duration,
) -> Result<(bool, String), DriverError> {
    let finished = command::run(Command::new(program).args(arguments), timeout)
        .map_err(DriverError::at("run", program))?;
    Ok((finished.status.success(), finished.output))
}
