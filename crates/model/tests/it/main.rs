//! The integration tests of this crate in one binary, with one module per subject.
#![allow(clippy::unwrap_used)]

mod admin;
mod any_text;
mod basic_auth;
mod bounds;
mod capacity;
mod culprit;
mod files;
mod isolation;
mod mistakes;
mod objectives;
mod policies;
mod published;
mod repeat;
mod routing;
mod scenarios;
