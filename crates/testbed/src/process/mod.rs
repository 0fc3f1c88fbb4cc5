//! Starts a process under a supervisor, and ends it with everything that it started, even if
//! gatebench itself is killed.
//!
//! Nothing in this module depends on gateway folders, protocols or readiness.

mod launch;
mod supervise;

pub use launch::{Launcher, PlainStart, Supervised};
pub(crate) use launch::{NOFILE, last_lines};
pub use supervise::supervise;
pub(crate) use supervise::{FORWARDED, Orders, end_supervisors, signal_from_name};
