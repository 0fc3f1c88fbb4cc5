//! Errors of connecting to a target.

use std::fmt;

use gatebench_net::tls::{SessionError, SettingsError};

/// The reason that one of the first connections to a target was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The kernel's reason.
    Kernel(String),
    /// No further connection was made within the limit.
    Late {
        /// The number of connections that were made until then.
        made: u32,
        /// The number of connections that were to be made.
        wanted: u32,
        /// The limit in seconds.
        limit_s: u64,
    },
    /// The server closed the connection during the TLS handshake.
    ClosedInHandshake,
    /// The server closes connections as soon as they are made.
    ClosedAtOnce,
    /// TLS could not begin with its settings.
    Settings {
        /// The description of the mistake.
        what: String,
        /// The action that removes the mistake.
        remedy: &'static str,
    },
    /// TLS failed.
    Tls(SessionError),
    /// The server did not agree to HTTP/2 in the TLS handshake.
    NoHttp2,
    /// The server violated HTTP/2; the reason as text.
    NotHttp2(String),
    /// The server ended the HTTP/2 connection before the first request.
    GoAway,
}

impl ConnectError {
    /// Returns the description of the error without the remedy.
    pub fn what(&self) -> String {
        match self {
            Self::Kernel(reason) => reason.clone(),
            Self::Late {
                made: 0, limit_s, ..
            } => format!("no connection was made within {limit_s} s"),
            Self::Late {
                made,
                wanted,
                limit_s,
            } => {
                format!("{made} of {wanted} connections were made, and no other within {limit_s} s")
            }
            Self::ClosedInHandshake => "the connection is closed during the TLS handshake".into(),
            Self::ClosedAtOnce => "connections are closed as soon as they are made".into(),
            Self::Settings { what, .. } => what.clone(),
            Self::Tls(error) => error.what(),
            Self::NoHttp2 => "the server did not agree to HTTP/2 (ALPN h2)".into(),
            Self::NotHttp2(reason) => format!("the server does not speak HTTP/2: {reason}"),
            Self::GoAway => "the server refuses requests: it sent GOAWAY before the first".into(),
        }
    }

    /// Returns the action that removes the error; none if the user must examine the target itself.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Late { made: 1.., .. } => Some("open fewer, or fewer per second"),
            Self::Settings { remedy, .. } => Some(remedy),
            Self::Tls(error) => Some(error.remedy()),
            Self::NoHttp2 => Some("use HTTP/1.1"),
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
        let place = error.place().map_or(String::new(), |it| format!("{it}: "));
        Self::Settings {
            what: format!("{place}{}", error.what()),
            remedy: error.remedy(),
        }
    }
}
