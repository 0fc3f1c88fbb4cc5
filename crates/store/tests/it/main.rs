//! The integration tests of this crate in one binary, with a module for each subject.
#![allow(clippy::unwrap_used)]

mod common;
mod following;
mod history;
mod links;
mod run_directory;
