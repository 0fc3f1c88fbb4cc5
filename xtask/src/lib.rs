//! The project's own rules, which `cargo xtask tidy` and `cargo test` enforce.

pub mod tidy;
