//! Limits on the resources that clients use.

use std::time::Duration;

/// The maximum number of connections that are served at the same time. Further connections have to
/// wait.
pub(crate) const CONNECTIONS_MAX: usize = 64;
/// The maximum number of pages that receive changes at the same time.
pub(crate) const STREAMS_MAX: usize = 16;
pub(crate) const HEAD_BYTES_MAX: usize = 8 << 10;
/// The maximum size of a POST request's body, in bytes.
pub(crate) const FORM_BYTES_MAX: usize = 4 << 10;
/// The time limit for a client to send the head of its request.
pub(crate) const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
/// The time after which a client that accepts no more of its response loses its connection.
pub(crate) const WRITE_TIME_MAX: Duration = Duration::from_secs(10);
/// The size of the kernel's send buffer of a connection. Linux reports that a client has accepted
/// bytes only when about a third of the buffer is free again, so a larger buffer would disconnect
/// clients that read slowly.
pub(crate) const SEND_BUFFER_BYTES: usize = 128 << 10;
/// The maximum duration of a connection. A page that receives changes then reconnects.
pub(crate) const CONNECTION_TIME_MAX: Duration = Duration::from_secs(600);
/// The time without connections after which a server stops once its run is over. It is long enough
/// for open pages to request the report.
pub(crate) const UNUSED_TIME: Duration = Duration::from_secs(5);
/// The time after which a server whose run is over stops even if connections are open, so that no
/// client can keep it running.
pub(crate) const ENDING_TIME_MAX: Duration = Duration::from_secs(60);
/// The maximum number of threads that read files and render pages.
pub(crate) const THREADS_MAX: usize = 4;
/// The maximum size of a `report.json` in bytes. The list of runs reads this file to show the first
/// sentence and the verdict of the report.
pub(crate) const REPORT_BYTES_MAX: u64 = 8 << 20;
