//! The processes of a trial other than its gateway: upstreams, Redis, PostgreSQL, and external load
//! generators.
//!
//! This module does not interpret a load generator's arguments or output.

mod postgres;
mod redis;
mod upstream;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::error::DriverError;
use crate::process::{Launcher, NOFILE, PlainStart, Supervised};
use crate::system::command::{self, wait_until};

pub use crate::process::PlainStart as GeneratorStart;
pub(crate) use postgres::start_postgres;
pub use redis::FoundRedis;
pub(crate) use redis::start_redis;
pub use upstream::UpstreamStart;

/// A listening upstream, Redis or PostgreSQL. Dropping it stops the process.
#[derive(Debug)]
pub struct Service {
    pub process: Supervised,
    pub addr: SocketAddr,
}

/// The conditions for a server to be ready, and the error if it does not become ready.
struct Readiness {
    timeout: Duration,
    log: fn(&Supervised) -> &Path,
    /// Reports whether a server with this log and address is ready.
    is_ready: fn(&str, SocketAddr) -> bool,
    error: fn(String, String) -> DriverError,
}

/// A part of the line that Redis and PostgreSQL write if another process listens on their port.
const TAKEN: &str = "Address already in use";

impl Readiness {
    /// Starts a server on one port, and waits until it is ready. Returns none if another process
    /// uses the port.
    fn start(
        &self,
        start: PlainStart<'_>,
        addr: SocketAddr,
        launcher: &Launcher,
    ) -> Result<Option<Service>, DriverError> {
        let mut process = start.start(NOFILE, launcher)?;
        let result = wait_until(Instant::now() + self.timeout, || {
            // The exit is checked before the log is read, so that the last output is not missed.
            let exit = process.exit_status();
            let log = fs::read_to_string((self.log)(&process)).unwrap_or_default();
            let is_ready = (self.is_ready)(&log, addr).then_some(Ok(()));
            is_ready.or_else(|| exit.map(|exit| Err((exit, log.contains(TAKEN)))))
        });
        let message = match result {
            Some(Ok(())) => return Ok(Some(Service { process, addr })),
            Some(Err((_, true))) => return Ok(None),
            Some(Err((exit, false))) => format!("it ended ({exit})"),
            None => format!("it was not ready within {:?}", self.timeout),
        };
        Err((self.error)(message, process.output_tail()))
    }
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
