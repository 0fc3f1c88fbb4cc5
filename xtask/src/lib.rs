//! Tasks of the project itself: `cargo xtask tidy` enforces the rules of the house.

pub mod tidy;
