//! The integration tests, in one binary. Tables of cases may exceed the length limit for functions.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod published;
mod written;
