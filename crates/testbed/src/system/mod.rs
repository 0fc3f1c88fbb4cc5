//! Services of the machine itself: short commands, files for one user, control groups, sockets, the
//! folder of installed programs, and the processes that `/proc` lists.
//!
//! This module does not know what is started or why: no gateway, no container engine, no
//! supervisor.

pub(crate) mod command;
pub(crate) mod digest;
pub(crate) mod exit;
pub(crate) mod installed;
pub(crate) mod limit;
pub(crate) mod owner;
pub(crate) mod private;
pub mod processes;
pub(crate) mod unix_socket;
