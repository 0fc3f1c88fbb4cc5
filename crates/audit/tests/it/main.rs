//! The integration tests, in one binary. A table of cases may make a function long.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod published;
