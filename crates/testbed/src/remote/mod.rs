//! A gateway on another host, through the user's `ssh` with its configuration, keys and agent.
//!
//! ```text
//! gatebench ──stdin, stdout of one ssh──> gatebench there ──> supervisor ──> gateway
//! ```
//! gatebench runs there too, and handles the gateway as it would here: it finds, renders, starts
//! and supervises it, samples its processes and ends it. One connection carries everything: the
//! program itself if the host does not have it, and then lines in both directions, one request
//! after the other. If the connection, `ssh` or gatebench breaks, the standard input on the host
//! ends, and then the program ends all its processes there.
//!
//! Engine and upstream stay here, and only clocks of this machine are compared; of the host's clock
//! only differences are used.

mod complaint;
mod end;
mod folder;
mod host;
mod kept;
mod link;
mod protocol;
mod running;
mod script;

pub use end::serve;
pub use host::RemoteHost;
pub(crate) use running::{RemoteGateway, RemoteSampler};
