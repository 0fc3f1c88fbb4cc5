//! Tasks of the project itself: `cargo xtask tidy` holds the rules of the house.

pub mod tidy;
