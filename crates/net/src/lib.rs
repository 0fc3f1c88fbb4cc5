//! Thread-per-core networking: a completion-based event loop over io_uring or epoll, and the
//! protocols (TLS, HTTP/1.1, HTTP/2) as state machines that do no I/O.
//!
//! One thread owns one [`Io`], and its loop blocks only in [`Io::poll`]. The workers of a server
//! share only its [`workers::Service`], TLS contexts, and the flags that stop them. Code without a
//! loop reads responses with [`http1::ResponseReader`], which blocks if its stream does. TLS is a
//! layer between [`Io`] and HTTP: both handle only bytes.

pub mod buffer;
mod choice;
pub mod clock;
pub mod connection;
mod epoll;
pub mod http1;
pub mod http2;
pub mod io;
pub mod outbox;
pub mod peer;
mod resting;
mod slots;
mod socket;
pub mod timers;
pub mod tls;
mod tls_io;
pub mod trace;
pub mod turns;
mod uring;
pub mod workers;

pub use buffer::Buffer;
pub use choice::{choose, run};
pub use connection::{ConnId, ConnMap, ListenerId};
pub use epoll::Epoll;
pub use io::{Backend, Event, Io, IoConfig, IoTask, SMALL_BYTES};
pub use outbox::Outbox;
pub use peer::Peer;
pub use tls_io::{TlsIo, TlsService};
pub use uring::Uring;
