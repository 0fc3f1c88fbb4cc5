//! `gatebench supervise`: between gatebench and what it starts, so that nothing outlives it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

/// Runs a command and ends it, with all that descends from it, when gatebench is gone
#[derive(Debug, Args)]
pub struct Supervise {
    /// Orders, `--`, and the command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Supervise {
    /// The exit code is the command's.
    pub fn run(self) -> ExitCode {
        gatebench_testbed::supervise(self.words)
    }
}
