//! Helpers that the tests of several subjects share.

pub mod calculator;
pub mod generator;
pub mod processor;
