//! The integration tests of this crate in one binary: a module for each subject.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod descriptors;
mod http2;
mod io;
mod serve;
mod tls;
