//! Tasks for developing gatebench: `cargo xtask tidy` enforces the project's own rules.

pub mod tidy;
