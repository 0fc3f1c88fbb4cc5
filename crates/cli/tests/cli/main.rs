//! The command as a user has it: real processes, real files, exit codes and words.
#![allow(clippy::unwrap_used)]

mod bench;
mod changes;
mod containers;
mod engines;
mod exit_codes;
mod failures;
mod flames;
mod gateways;
mod groups;
mod interruptions;
mod limits;
mod load;
mod processes;
mod published;
mod reaching;
mod remote;
mod results;
mod run_directory;
mod serving;
mod shares;
mod soaks;
mod specifications;
mod suites;
mod words;
