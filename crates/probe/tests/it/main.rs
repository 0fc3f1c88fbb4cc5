//! The integration tests of this crate in one binary: a module for each subject.
#![allow(clippy::unwrap_used)]

mod accounting;
mod frequency;
mod processes;
mod topology;
