//! The integration tests of this crate but those of `probe`: a module for each subject.
#![allow(clippy::unwrap_used)]

mod common;
mod facts;
mod failures;
mod folders;
mod gateways;
mod own_config;
mod schemas;
mod supervisor;
mod versions;
