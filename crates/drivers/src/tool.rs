//! A program of somebody else's that runs to its own end under a supervisor: another load engine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::command;
use crate::error::DriverError;
use crate::exit::{Ended, Exit};
use crate::launch::{Launcher, Plain, Supervised};

/// Open descriptors it may have, as far as the machine's hard limit allows.
const NOFILE: u64 = 1_048_576;

/// Everything needed to start a tool.
#[derive(Clone, Debug)]
pub struct ToolStart<'a> {
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

/// A tool that runs. Dropping it ends it, with everything it started.
#[derive(Debug)]
pub struct ToolProcess {
    process: Supervised,
}

impl ToolStart<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// Its folder cannot be made, or the supervisor cannot be started.
    pub fn start(self) -> Result<ToolProcess, DriverError> {
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
        Ok(ToolProcess { process })
    }
}

impl ToolProcess {
    /// The supervisor: the tool is everything *below* this process.
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

/// What a short question to a tool is answered: whether it ended well, and all it wrote.
///
/// # Errors
/// It cannot be started, or does not end within `timeout`.
pub fn ask_tool(
    program: &Path,
    arguments: &[&str],
    timeout: Duration,
) -> Result<(bool, String), DriverError> {
    let finished = command::run(Command::new(program).args(arguments), timeout)
        .map_err(DriverError::io(format!("asking {}", program.display())))?;
    Ok((finished.status.success(), finished.output))
}
