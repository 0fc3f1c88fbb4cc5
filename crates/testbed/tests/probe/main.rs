//! The integration tests of `probe`: a module for each subject. They are a separate binary, so that
//! gateways of other tests do not disturb the cores and processes that these tests observe.
#![allow(clippy::unwrap_used)]

mod accounting;
mod environment;
mod frequency;
mod ping_pong;
mod processes;
mod topology;
