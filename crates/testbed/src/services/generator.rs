//! An external load generator: a program that ends by itself and runs under a supervisor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::DriverError;
use crate::process::{Launcher, Plain, Supervised};
use crate::system::command;

/// The limit of its open descriptors, if the machine's hard limit is not lower.
const NOFILE: u64 = 1_048_576;

/// The inputs for starting a load generator.
#[derive(Clone, Debug)]
pub struct GeneratorStart<'a> {
    /// Its name, for logs and errors.
    pub name: &'a str,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Environment variables in addition to this process's own.
    pub environment: &'a BTreeMap<String, String>,
    /// Its working folder with its logs, which is created if it does not exist.
    pub work: &'a Path,
    /// The cores that it runs on [default: all].
    pub cores: &'a [usize],
}

impl GeneratorStart<'_> {
    pub(crate) fn start(self, launcher: &Launcher) -> Result<Supervised, DriverError> {
        Plain {
            name: self.name,
            command: self.command,
            environment: self.environment,
            work: self.work,
            cores: self.cores,
            nofile: NOFILE,
            launcher,
        }
        .start()
    }
}

/// Runs a short command of a load generator, and returns its success and its whole output.
///
/// # Errors
/// The command cannot be started, or does not end within `timeout`.
pub fn ask_generator(
    program: &Path,
    arguments: &[&str],
    timeout: Duration,
) -> Result<(bool, String), DriverError> {
    let finished = command::run(Command::new(program).args(arguments), timeout)
        .map_err(DriverError::io(format!("asking {}", program.display())))?;
    Ok((finished.status.success(), finished.output))
}
