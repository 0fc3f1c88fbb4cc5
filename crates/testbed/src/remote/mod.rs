//! A gateway on another host, through the user's `ssh` with its configuration, keys and agent.
//!
//! ```text
//! gatebench ──stdin, stdout of one ssh──> gatebench there ──> supervisor ──> gateway
//! ```
//! gatebench also runs on the host, where it finds, renders, starts and supervises the gateway,
//! samples its processes and ends it, as it would on this machine. One connection carries
//! everything: the program itself if the host lacks it, and then lines in both directions, one
//! request at a time. If the connection, `ssh` or gatebench fails, standard input on the host ends,
//! and the program there ends all its processes.
//!
//! The load generator and the upstream stay on this machine, so all times are read from its clock.
//! Only differences between times of the host's clock are used.

mod carrier;
mod complaint;
mod connection;
mod end;
mod folder;
mod holder;
mod host;
mod kept;
mod link;
mod numbered;
mod pod;
mod protocol;
mod running;
mod watched;

pub use end::serve;
pub use holder::{hold, relay};
pub use host::RemoteHost;
pub use pod::{InspectedPod, inspect_pod};
pub use protocol::Inspected;
pub(crate) use running::{RemoteGateway, RemoteSampler};
pub(crate) use watched::WatchedPod;
