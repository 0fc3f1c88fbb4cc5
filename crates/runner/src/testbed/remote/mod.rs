//! A gateway on another host. gatebench runs there too, and does with the gateway what it would do here:
//! finds it, renders, starts and supervises it, samples its processes, ends it. What is asked of it goes
//! over one connection, question by question. Engine and upstream stay here, and so does every clock that is
//! compared with another: of the host's clock only differences are used.

mod end;
mod folder;
mod host;
mod kept;
mod protocol;
mod running;

pub use end::serve;
pub use host::RemoteHost;
pub(crate) use host::RemoteHosts;
pub(crate) use running::{RemoteGateway, RemoteSampler};

/// The subcommand that answers there.
const SUBCOMMAND: &str = "remote-end";
