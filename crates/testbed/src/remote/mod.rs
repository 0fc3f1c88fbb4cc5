//! Runs parts of a trial on another host, through the user's `ssh` with its configuration, keys and
//! agent, or in a pod, through the user's `kubectl`.
//!
//! ```text
//! gatebench ──stdin, stdout of one ssh──> gatebench there ──> supervisor ──> gateway
//! ```
//! gatebench also runs on the host, where it finds, renders, starts and supervises the gateway,
//! samples its processes and ends it, as it would on this machine. One connection carries
//! everything: the program itself if the host lacks it, and then lines in both directions, one
//! request at a time. If the connection, `ssh` or gatebench fails, standard input on the host ends
//! or falls silent, and the program there ends all its processes. In a pod, the program does so
//! only if the connection is not restored within two minutes.
//!
//! gatebench, or its small program `gatebench-agent`, also runs on hosts of upstreams, Redis and
//! load generators, in the pods of gateways that it did not start, and on this machine for a load
//! generator at the place `here`. A load generator is a [`Role`] that the caller of [`serve`] adds.

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
mod service;
mod watched;

pub use end::{Role, serve};
pub use holder::{hold, relay};
pub use host::RemoteHost;
pub use pod::{InspectedPod, inspect_pod};
pub use protocol::Inspected;
pub(crate) use protocol::Ordered;
pub(crate) use running::{RemoteGateway, RemoteSampler};
pub(crate) use service::RemoteService;
pub(crate) use watched::WatchedPod;
