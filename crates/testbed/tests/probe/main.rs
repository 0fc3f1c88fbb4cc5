//! The integration tests of `probe`: a module for each subject. They read what cores and processes
//! did, so that they have a binary of their own: none of the other tests' gateways runs next to them.
#![allow(clippy::unwrap_used)]

mod accounting;
mod frequency;
mod processes;
mod topology;
