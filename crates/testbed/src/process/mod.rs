//! Starts a process under a supervisor, and ends it with everything that it started, even if
//! gatebench itself is killed.
//!
//! This module does not know what it starts: no gateway folder, no protocol, no readiness.

mod force_stop;
mod launch;
mod supervise;

pub(crate) use force_stop::end_supervisors;
pub use launch::{Launcher, Supervised};
pub(crate) use launch::{Plain, last_lines};
pub use supervise::supervise;
pub(crate) use supervise::{FORWARDED, Orders, signal_from_name};
