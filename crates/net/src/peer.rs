//! The addresses that a loop can connect to: TCP and Unix stream sockets.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The address of a listening stream socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    Tcp(SocketAddr),
    /// A Unix stream socket in the file system. If its backlog is full, connecting to it fails at
    /// once with EAGAIN (connect(2)).
    Unix(PathBuf),
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<&Path> for Peer {
    fn from(path: &Path) -> Self {
        Self::Unix(path.to_owned())
    }
}

impl From<&Self> for Peer {
    fn from(peer: &Self) -> Self {
        peer.clone()
    }
}

impl fmt::Display for Peer {
    /// `127.0.0.1:80` or `unix:/run/server.sock`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
