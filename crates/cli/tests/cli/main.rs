//! The command as a user has it: real processes, real files, exit codes and words.
#![allow(clippy::unwrap_used)]

mod bench;
mod engines;
mod failures;
mod interruptions;
mod load;
mod processes;
mod results;
mod run_directory;
mod serving;
mod words;
