//! The integration tests of this crate in one binary: a module for each subject.

mod format;
