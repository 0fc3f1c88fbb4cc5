//! An external load generator: a program that runs to its own end under a supervisor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::DriverError;
use crate::process::{Launcher, Plain, Supervised};
use crate::system::command;
use crate::system::exit::{Ended, Exit};

/// Open descriptors it may have, as far as the machine's hard limit allows.
const NOFILE: u64 = 1_048_576;

/// Everything needed to start a load generator.
#[derive(Clone, Debug)]
pub struct GeneratorStart<'a> {
    /// Its name, for its logs and in errors.
    pub name: &'a str,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables of its environment besides this process's own.
    pub environment: &'a BTreeMap<String, String>,
    /// Its working folder, where its logs go; made where it does not exist.
    pub work: &'a Path,
    /// Cores it runs on; none means anywhere.
    pub cores: &'a [usize],
    /// The supervising program.
    pub launcher: &'a Launcher,
}

/// A running load generator. Dropping it ends it, with everything it started.
#[derive(Debug)]
pub struct GeneratorProcess {
    process: Supervised,
}

impl GeneratorStart<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// Its folder cannot be made, or the supervisor cannot be started.
    pub fn start(self) -> Result<GeneratorProcess, DriverError> {
        let process = Plain {
            name: self.name,
            command: self.command,
            environment: self.environment,
            work: self.work,
            cores: self.cores,
            nofile: NOFILE,
            launcher: self.launcher,
        }
        .start()?;
        Ok(GeneratorProcess { process })
    }
}

impl GeneratorProcess {
    /// The supervisor: the load generator is everything *below* this process.
    pub fn supervisor_pid(&self) -> u32 {
        self.process.pid()
    }

    /// How it ended, if it did.
    pub fn exit_status(&mut self) -> Option<Exit> {
        self.process.exit()
    }

    /// The file that holds what it wrote to standard output.
    pub fn stdout(&self) -> PathBuf {
        self.process.stdout.clone()
    }

    /// The end of all it wrote.
    pub fn output_tail(&self) -> String {
        self.process.output_tail()
    }

    /// Ends it.
    pub fn stop(&mut self) -> Ended {
        self.process.stop()
    }
}

/// Runs a load generator with short arguments; returns whether it succeeded, and all it wrote.
///
/// # Errors
/// It cannot be started, or does not end within `timeout`.
pub fn ask_generator(
    program: &Path,
    arguments: &[&str],
    timeout: Duration,
) -> Result<(bool, String), DriverError> {
    let finished = command::run(Command::new(program).args(arguments), timeout)
        .map_err(DriverError::io(format!("asking {}", program.display())))?;
    Ok((finished.status.success(), finished.output))
}
