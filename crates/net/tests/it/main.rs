//! The integration tests of this crate in one binary: a module for each subject.
#![allow(clippy::unwrap_used)]

mod common;
mod descriptors;
mod http1;
mod http2;
mod io;
mod serve;
mod timers;
mod tls;
mod trace;
mod workers;
