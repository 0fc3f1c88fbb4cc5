//! The state that the loop keeps per connection.

use std::os::fd::OwnedFd;

use super::address::SocketAddrStorage;

pub(super) struct Conn {
    pub(super) socket: OwnedFd,
    /// The address to connect to; boxed because it must not move while the kernel reads it.
    pub(super) peer: Option<Box<SocketAddrStorage>>,
    pub(super) sending: Option<Sending>,
    /// The number of this connection's operations whose last completion has not arrived, without
    /// counting cancellations.
    pub(super) outstanding: u8,
    pub(super) receiving: bool,
    pub(super) paused: bool,
    pub(super) finished: bool,
    pub(super) failed: bool,
    /// True if the user has closed the connection; its events are then no longer delivered.
    pub(super) closed: bool,
    pub(super) shutdown_wanted: bool,
}

pub(super) struct Sending {
    pub(super) bytes: Vec<u8>,
    pub(super) done: usize,
}
