//! The integration tests of this crate in one binary: a module for each subject.
#![allow(clippy::unwrap_used)]

mod common;
mod conduct;
mod groups;
mod limits;
mod together;
