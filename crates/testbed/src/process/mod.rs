//! Starts a process under a supervisor and ends it with everything that it started, also where
//! gatebench itself is killed.
//!
//! It must not know what it starts: no gateway folder, no protocol, no readiness.

mod launch;
mod supervise;

pub use launch::{Launcher, Root};
pub(crate) use launch::{Plain, Supervised, last_lines};
pub use supervise::supervise;
pub(crate) use supervise::{FORWARDED, Orders, signal_from_name};
