//! The integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod execution;
mod kind;
mod output;
mod translation;
