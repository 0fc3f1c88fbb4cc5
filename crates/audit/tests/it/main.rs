//! The integration tests of this crate in one binary, with a module for each subject. A table of
//! cases may make a function long.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod published;
