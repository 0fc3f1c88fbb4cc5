//! Errors that occur when a load runs or connects to its target.

use std::fmt;
use std::io;
use std::net::IpAddr;

use gatebench_net::Peer;
use gatebench_net::tls::{SessionError, SettingsError};

use crate::data::DataError;

/// The reason why a load could not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot connect to {address}: {reason}")]
    Unreachable { address: Peer, reason: ConnectError },
    /// A request's template cannot be filled from the data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The kernel refused a resource that the engine needs.
    #[error("the load generator cannot run on this machine: {0}")]
    Environment(#[from] io::Error),
}

/// The reason why one of the first connections to a target was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The connection failed with this error of the kernel.
    Kernel(String),
    /// This machine does not have this source address.
    NoSource(IpAddr),
    /// Only `made` of a worker's `wanted` connections were made, and no more for `limit_s` seconds.
    Late {
        made: u32,
        wanted: u32,
        limit_s: u64,
    },
    /// The server closed the connection before TLS or HTTP/2 was established.
    ClosedInHandshake,
    /// The server closed a connection before the first request, and no other connection was ready.
    ClosedAtOnce,
    /// TLS could not begin with the configured settings.
    Settings { what: String, remedy: &'static str },
    /// TLS failed before the first request.
    Tls(SessionError),
    /// The server did not agree to HTTP/2 in the TLS handshake.
    NoHttp2,
    /// The server violated HTTP/2 in the way that the string describes.
    NotHttp2(String),
    /// The server ended the HTTP/2 connection before the first request.
    GoAway,
}

impl ConnectError {
    /// Returns the description of the error without the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::Kernel(reason) => reason.clone(),
            Self::NoSource(source) => {
                format!("the load generator's machine does not have the source address {source}")
            }
            Self::Late {
                made: 0, limit_s, ..
            } => format!("no connection was made within {limit_s} s"),
            Self::Late {
                made,
                wanted,
                limit_s,
            } => {
                format!(
                    "a worker made {made} of {wanted} connections, but no more within {limit_s} s"
                )
            }
            Self::ClosedInHandshake => {
                "the connection was closed before TLS or HTTP/2 was established".into()
            }
            Self::ClosedAtOnce => "connections are closed as soon as they are made".into(),
            Self::Settings { what, .. } => what.clone(),
            Self::Tls(error) => error.what(),
            Self::NoHttp2 => "the server did not agree to HTTP/2 (ALPN h2)".into(),
            Self::NotHttp2(reason) => format!("the server does not speak HTTP/2: {reason}"),
            Self::GoAway => {
                "the server refuses requests: it sent GOAWAY before the first one".into()
            }
        }
    }

    /// Returns the usual remedy, or `None` if there is none, for example because the user must
    /// examine the target itself.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Late { made: 1.., .. } => Some("open fewer connections, or fewer per second"),
            Self::Settings { remedy, .. } => Some(remedy),
            Self::Tls(error) => Some(error.remedy()),
            Self::NoHttp2 => Some("use HTTP/1.1"),
            Self::NoSource(_) => Some("use addresses of that machine as sources"),
            Self::Kernel(_)
            | Self::Late { .. }
            | Self::ClosedInHandshake
            | Self::ClosedAtOnce
            | Self::NotHttp2(_)
            | Self::GoAway => None,
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        self.remedy()
            .map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl From<SessionError> for ConnectError {
    fn from(error: SessionError) -> Self {
        Self::Tls(error)
    }
}

impl From<SettingsError> for ConnectError {
    fn from(error: SettingsError) -> Self {
        Self::Settings {
            what: error.what_and_place(),
            remedy: error.remedy(),
        }
    }
}
