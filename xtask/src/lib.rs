//! Tasks of the project itself: `cargo xtask tidy` enforces the project's rules.

pub mod tidy;
