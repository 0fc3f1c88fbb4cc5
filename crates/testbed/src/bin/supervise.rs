//! `gatebench supervise` as a program of its own, so that this crate is tested with real processes.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatebench_testbed::supervise(std::env::args_os().skip(1))
}
