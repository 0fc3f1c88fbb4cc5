//! The `gatebench` command: reads the command line, prints, and returns exit codes.

mod args;
mod commands;
mod exit;
mod failure;
mod panic;
mod reports;
mod signals;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

/// The version with the commit that the program was built from.
const VERSION: &str = env!("GATEBENCH_VERSION");

/// The version and the optional features, as `--version` prints them.
const LONG_VERSION: &str = match cfg!(feature = "soap") {
    true => concat!(env!("GATEBENCH_VERSION"), "\nfeatures: +soap"),
    false => concat!(env!("GATEBENCH_VERSION"), "\nfeatures: -soap"),
};

fn main() -> ExitCode {
    panic::report_panics_as_defects();
    match args::Cli::parse().command.run() {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print();
            failure.exit().into()
        }
    }
}
