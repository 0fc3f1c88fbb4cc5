//! A gateway on another host, through the user's `ssh` with its configuration, keys and agent.
//!
//! ```text
//! gatebench ──stdin, stdout of one ssh──> gatebench there ──> supervisor ──> gateway
//! ```
//! gatebench also runs on the host, and handles the gateway as it would here: it finds, renders,
//! starts and supervises it, samples its processes and ends it. One connection carries everything:
//! the program itself if the host lacks it, and then lines in both directions, one request after
//! the other. If the connection, `ssh` or gatebench fails, standard input on the host ends, and the
//! program then ends all its processes there.
//!
//! Load generator and upstream stay here, and only clocks of this machine are compared; of the
//! host's clock, only differences are used.

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
