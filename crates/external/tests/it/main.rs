//! The integration tests of this crate in one binary: a module for each subject.
#![allow(clippy::unwrap_used)]

mod execution;
mod kind;
mod output;
mod translation;
