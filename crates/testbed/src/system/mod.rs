//! Operating system services: short commands, exit statuses, private files, digests, control
//! groups, identifiers of processes, sockets, the folders of installed programs, and the processes
//! that `/proc` lists.

pub(crate) mod command;
pub(crate) mod digest;
pub(crate) mod exit;
pub(crate) mod installed;
pub(crate) mod limit;
pub(crate) mod owner;
pub(crate) mod private;
pub mod processes;
pub(crate) mod unix_socket;
