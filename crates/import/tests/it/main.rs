//! Whole inputs, and the folders that are made of them.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod decks;
mod golden;
mod logs;
mod mistakes;
mod own_files;
mod round_trips;
