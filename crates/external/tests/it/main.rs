//! The integration tests of this crate in one binary, with one module per subject.
#![allow(clippy::unwrap_used)]

mod execution;
mod kind;
mod output;
mod translation;
