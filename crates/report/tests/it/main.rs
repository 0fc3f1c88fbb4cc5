//! The integration tests of this crate in one binary, with a module for each subject.

mod format;
