//! `gatebench supervise`: the parent of every process that gatebench starts. It ends them when
//! gatebench ends.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

/// Run a command, and end it with all its descendants when gatebench has ended
#[derive(Debug, Args)]
pub struct Supervise {
    /// Settings, `--`, and the command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Supervise {
    /// The exit code is the command's.
    pub fn run(self) -> ExitCode {
        gatebench_testbed::supervise(self.words)
    }
}
