//! The integration tests of this crate in one binary, with a module for each subject.
#![allow(clippy::unwrap_used)]

mod accuracy;
mod common;
mod conformance;
mod connect_error;
mod gzip;
mod population;
mod protocols;
mod real;
mod request_mix;
mod schedule;
