//! The integration tests of this crate in one binary: a module for each subject. A table of cases
//! may be as long as it needs to be.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod published;
