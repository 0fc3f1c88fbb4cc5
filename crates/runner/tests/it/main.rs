//! Integration tests in one binary: a module for each subject. Tests with tables of cases may
//! exceed the limit on the length of functions.
#![allow(clippy::too_many_lines)]
#![allow(clippy::unwrap_used)]

mod common;
mod conduct;
mod groups;
mod library;
mod limits;
mod prepare;
mod together;
