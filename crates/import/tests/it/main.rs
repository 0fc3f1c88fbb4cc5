//! Tests complete inputs and the folders that are generated from them.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod decks;
mod golden;
mod k6;
mod logs;
mod mistakes;
mod own_files;
mod round_trips;
