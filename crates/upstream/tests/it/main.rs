//! The integration tests of this crate in one binary: a module for each subject.
#![allow(clippy::unwrap_used, missing_docs)]

mod calculator;
mod common;
mod fault_server;
mod http2;
mod serving;
mod wire;
