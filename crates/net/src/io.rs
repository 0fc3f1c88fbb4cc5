//! The contract of every backend: operations are submitted, and completions arrive with their
//! buffers.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::tls::Session;
use crate::{Buffer, ConnId, ListenerId, Peer};

/// If a send of at most this number of bytes completes at once, no event follows. Unless the
/// connection fails, an event follows every larger send, so that a caller can stream by sending the
/// next piece after each event.
pub const SMALL_BYTES: usize = 16 * 1024;

/// A change in the state of a connection. Events also return the buffers that were lent to the
/// loop.
#[derive(Debug)]
pub enum Event {
    /// A peer connected to `listener`. Receiving has already begun.
    Accepted { listener: ListenerId, conn: ConnId },
    /// A connection from [`Io::connect`] is established. Receiving has already begun.
    Connected { conn: ConnId },
    /// Bytes arrived; there is at least one. Dropping the buffer returns its memory to the loop.
    Received { conn: ConnId, bytes: Buffer },
    /// The peer will send no more (FIN). Sending is still possible.
    EndOfStream { conn: ConnId },
    /// The kernel has taken all bytes of the last send, which did not return its vector at once.
    /// The event returns the vector for reuse, with its contents unchanged.
    Sent { conn: ConnId, bytes: Vec<u8> },
    /// The connection failed, for the reason that the kernel reports (refused, reset, timed out)
    /// or, under TLS, because of an error in the session. It must still be closed.
    Failed { conn: ConnId, error: io::Error },
}

impl Event {
    pub fn conn(&self) -> ConnId {
        match self {
            Self::Accepted { conn, .. }
            | Self::Connected { conn }
            | Self::Received { conn, .. }
            | Self::EndOfStream { conn }
            | Self::Sent { conn, .. }
            | Self::Failed { conn, .. } => *conn,
        }
    }
}

/// A listener and the address that it is bound to.
pub type Bound = (ListenerId, SocketAddr);

/// One thread's I/O.
///
/// The contract for each connection: at most one send is outstanding; after [`Io::close`] or
/// [`Io::abort`] no poll delivers an event for that [`ConnId`], even if completions were pending.
/// Events that an earlier poll delivered stay in the caller's list, even if their connections have
/// been closed since. Look up their identifiers: the next connection in the same slot has a
/// different one. Operations on a closed `ConnId` do nothing.
pub trait Io {
    /// The monotonic clock in nanoseconds (`CLOCK_MONOTONIC`, comparable between the processes of a
    /// host in one time namespace). A simulated loop returns simulated time.
    fn now_ns(&self) -> u64;

    /// The TLS session of a connection; `None` if the connection does not use TLS or does not
    /// belong to the loop.
    fn session(&self, _conn: ConnId) -> Option<&Session> {
        None
    }

    /// Listens on `address` (port 0 picks a free one) and accepts until [`Io::stop_listening`] or
    /// until the loop is dropped. If `shared`, `SO_REUSEPORT` is set, so that several workers can
    /// listen on one port.
    ///
    /// # Errors
    /// The error of the system call that failed, usually `bind` or `listen`.
    fn listen(&mut self, address: SocketAddr, shared: bool) -> io::Result<Bound>;

    /// Stops accepting on a listener and closes it; connections that it accepted stay open.
    fn stop_listening(&mut self, listener: ListenerId);

    /// Begins to connect to `peer`, from the local address `source` if one is given (over TCP; the
    /// port is chosen so that every source can have, by default, about 28,000 connections to each
    /// peer). [`Event::Connected`] or [`Event::Failed`] follows.
    ///
    /// # Errors
    /// Only errors that are known at once, for example that no descriptor is left.
    fn connect(&mut self, peer: impl Into<Peer>, source: Option<IpAddr>) -> io::Result<ConnId>;

    /// Sends all of `bytes`. If the last poll had many completions, io_uring sends the bytes at the
    /// next [`Io::poll`], together with those of other connections, which is cheapest. Otherwise,
    /// they are sent at once.
    ///
    /// If a send of at most [`SMALL_BYTES`] is taken completely by the kernel at once, the vector
    /// is returned at once. Any other send is followed by [`Event::Sent`] (unless the connection
    /// fails); only then may the next send begin.
    #[must_use = "if the vector is returned, no event follows"]
    fn send(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>>;

    /// Sends all of `bytes`. If the kernel has room, it takes the first of these bytes before this
    /// function returns, so a timestamp taken just before the call is exact. The vector is returned
    /// as by [`Io::send`].
    #[must_use = "if the vector is returned, no event follows"]
    fn send_now(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>>;

    /// Stops receiving until [`Io::resume`]: later bytes stay in the kernel, whose window then
    /// closes (backpressure). Pending events may still arrive.
    fn pause(&mut self, conn: ConnId);

    fn resume(&mut self, conn: ConnId);

    /// Sends FIN after everything that was submitted; receiving continues.
    fn shutdown(&mut self, conn: ConnId);

    /// Closes the connection; bytes that were submitted but not yet taken by the kernel are lost.
    fn close(&mut self, conn: ConnId);

    /// Closes with RST, so neither side stays in TIME-WAIT.
    fn abort(&mut self, conn: ConnId);

    /// Submits pending operations, and appends to `events` what has happened. Waits until something
    /// completes or the clock reaches `until_ns` (`None`: no limit; a past time: do not wait). May
    /// return earlier without events, for example after a signal.
    ///
    /// # Errors
    /// Only if the loop itself fails; the failure of a connection is an event.
    fn poll(&mut self, until_ns: Option<u64>, events: &mut Vec<Event>) -> io::Result<()>;
}

/// The kernel interface that a loop uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// io_uring: multishot receive into a ring of buffers, batched submission.
    Uring,
    /// epoll, edge-triggered, with each connection registered once.
    Epoll,
}

impl Backend {
    /// The name used in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Epoll => "epoll",
        }
    }
}

/// The number and size of a loop's receive buffers.
#[derive(Clone, Copy, Debug)]
pub struct IoConfig {
    /// Number of buffers, a power of two up to 32,768.
    pub buffers: u16,
    pub buffer_bytes: usize,
}

impl Default for IoConfig {
    /// 2 MiB in total, with room for a small response from each of 256 connections.
    fn default() -> Self {
        Self {
            buffers: 256,
            buffer_bytes: 8 * 1024,
        }
    }
}

/// Work that runs on the chosen backend, compiled once for each backend.
pub trait IoTask {
    type Output;
    fn run<I: Io>(self, io: I) -> Self::Output;
}
