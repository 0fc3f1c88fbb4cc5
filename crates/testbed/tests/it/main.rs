//! The integration tests of this crate, except those of `probe`: a module for each subject.
#![allow(clippy::unwrap_used)]

mod common;
mod facts;
mod failures;
mod fatal;
mod folders;
mod gateways;
mod interrupt;
mod own_config;
mod schemas;
mod supervisor;
mod versions;
