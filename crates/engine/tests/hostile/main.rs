//! Tests the engine against upstreams that misbehave in many ways. A load that begins must use a
//! bounded amount of memory, record every failed request, and end by itself.
//!
//! This is a separate binary because the tests limit the growth of the whole process while a load
//! runs.

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
