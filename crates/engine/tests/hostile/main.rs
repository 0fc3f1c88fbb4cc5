//! Upstreams that do everything wrong. Whatever they do, the engine's memory is bounded, every request
//! is accounted for as the right kind of error, and the load ends by itself.
//!
//! A binary of its own, since each load has a bound on the growth of this process meanwhile.

#![allow(clippy::unwrap_used, missing_docs)]

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
