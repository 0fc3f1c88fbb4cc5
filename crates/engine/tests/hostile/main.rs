//! Tests the engine against upstreams that misbehave in many ways. In each case, the engine's
//! memory is bounded, every failed request is counted as an expected kind of error, and the load
//! ends by itself.
//!
//! This is a separate binary because each test limits the growth of the whole process while its
//! load runs.

#![allow(clippy::unwrap_used)]

#[path = "../it/common/mod.rs"]
mod common;

mod bodies;
mod endings;
mod heads;
mod http2;
mod http2_streams;
mod server;
mod tls;
mod trial;
