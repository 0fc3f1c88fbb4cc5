//! The `gatebench` command: words in, words and exit codes out. The only crate that prints; what it
//! prints is decided elsewhere.

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

fn main() -> ExitCode {
    panic::say_that_it_is_our_fault();
    match args::Cli::parse().command.run() {
        Ok(exit) => exit,
        Err(failure) => {
            failure.print();
            failure.exit().into()
        }
    }
}
