//! The integration tests of this crate in one binary: a module for each subject.
// A table of cases is as long as it has cases.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod published;
