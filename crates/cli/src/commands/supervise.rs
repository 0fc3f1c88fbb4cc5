//! `gatebench supervise`: the parent process of each program that gatebench starts. It ends the
//! program when gatebench ends.

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
    /// Returns the exit code of the command.
    pub fn run(self) -> ExitCode {
        gatebench_testbed::supervise(self.words)
    }
}
