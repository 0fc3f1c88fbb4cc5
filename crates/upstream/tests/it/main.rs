//! The integration tests of this crate in one binary, with a module for each subject.
#![allow(clippy::unwrap_used)]

mod calculator;
mod case;
mod common;
mod fault_server;
mod http2;
mod serving;
mod truth;
mod wire;
