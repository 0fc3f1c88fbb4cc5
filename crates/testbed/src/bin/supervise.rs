//! `gatebench supervise` as a separate program, for tests of this crate with real processes.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatebench_testbed::supervise(std::env::args_os().skip(1))
}
