//! The integration tests, in one binary.
#![allow(clippy::unwrap_used)]

mod apart;
mod bootstrap;
mod capacity;
mod change_points;
mod comparison;
mod control;
mod difference;
mod doubling;
mod drift;
mod estimate;
mod holm;
mod knee;
mod leak;
mod little;
mod normal;
mod percentile;
mod random;
mod rank;
mod scalability;
mod settled;
mod share;
mod sign_flip;
mod spoiled;
mod student;
