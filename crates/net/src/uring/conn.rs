//! The state of the loop per connection.

use std::os::fd::OwnedFd;

use super::address::SocketAddrStorage;

/// One connection.
pub(super) struct Conn {
    pub(super) socket: OwnedFd,
    /// The address to connect to; boxed because the kernel reads it at its place in memory.
    pub(super) peer: Option<Box<SocketAddrStorage>>,
    pub(super) sending: Option<Sending>,
    /// Operations of this connection whose last completion has not come.
    pub(super) outstanding: u8,
    pub(super) receiving: bool,
    pub(super) paused: bool,
    pub(super) finished: bool,
    pub(super) failed: bool,
    /// The user has closed it: its events are no longer delivered.
    pub(super) closed: bool,
    pub(super) shutdown_wanted: bool,
}

/// A send under way.
pub(super) struct Sending {
    pub(super) bytes: Vec<u8>,
    pub(super) done: usize,
}
