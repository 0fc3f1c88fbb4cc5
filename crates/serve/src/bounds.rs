//! The limits of what clients may use.

use std::time::Duration;

/// Connections that are served at once; further ones wait.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// Pages that receive changes at once.
pub(crate) const STREAMS_MAX: usize = 16;
/// Bytes of a request's head.
pub(crate) const HEAD_BYTES_MAX: usize = 8 << 10;
/// Bytes of the body of a POST request.
pub(crate) const FORM_BYTES_MAX: usize = 4 << 10;
/// The longest time until a request's head is complete.
pub(crate) const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
/// The longest time of a connection. A page that receives changes connects again.
pub(crate) const CONNECTION_TIME_MAX: Duration = Duration::from_secs(600);
/// Threads that read files and draw pages.
pub(crate) const THREADS_MAX: usize = 4;
/// Bytes of a report of which its first sentence is shown in the list.
pub(crate) const REPORT_BYTES_MAX: u64 = 8 << 20;
