//! The reason why a target did not accept data, including the server's message, and the remedy.

use std::fmt;
use std::io;
use std::time::Duration;

use gatebench_outputs::Format;

use super::target::{Kind, Target};

/// A failure to probe a target or to send data to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The target, without secrets.
    pub target: String,
    /// The server's message or the system's error.
    pub what: String,
    pub remedy: String,
    pub(super) then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing arrived: send the same push again until it is too old.
    Again,
    /// The server does not accept the push now, or part of the push may have arrived: send the same
    /// push again a few times, after this pause if the server requested one.
    Retry(Option<Duration>),
    /// The body was too large: send smaller parts.
    Smaller,
    /// The same push would fail again.
    Drop,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "output {}: {}", self.target, self.what)
    }
}

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    /// The beginning of the body.
    pub(super) words: String,
}

impl Refusal {
    /// A failure of a connection or a file.
    pub(super) fn of_io(target: &Target, error: &io::Error) -> Self {
        let (what, remedy, then) = match (target.kind, error.kind()) {
            (Kind::JsonLines, _) => (
                format!("cannot write: {error}"),
                "name a file in a writable directory, on a disk with free space",
                Then::Drop,
            ),
            (_, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => (
                "the server does not respond".into(),
                "check the host and the port, and whether the server is overloaded",
                Then::Retry(None),
            ),
            (_, kind) => (
                format!("cannot reach the server: {error}"),
                "start the server, or correct the host or port",
                match kind {
                    io::ErrorKind::ConnectionRefused => Then::Again,
                    // Part of the push may have arrived.
                    _ => Then::Retry(None),
                },
            ),
        };
        Self::new(target, what, remedy, then)
    }

    pub(super) fn of_response(target: &Target, response: &Response) -> Self {
        // A terminal would interpret control characters.
        let words = response.words.replace(char::is_control, " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = match words.is_empty() {
            true => String::new(),
            false => format!(": {words}"),
        };
        let what = format!("the server responds with {}{words}", response.status);
        let then = match response.status {
            413 => Then::Smaller,
            429 | 500..=599 => Then::Retry(response.retry_after),
            _ => Then::Drop,
        };
        Self::new(target, what, remedy(target, response.status), then)
    }

    fn new(target: &Target, what: String, remedy: impl Into<String>, then: Then) -> Self {
        Self {
            target: target.to_string(),
            what,
            remedy: remedy.into(),
            then,
        }
    }
}

fn remedy(target: &Target, status: u16) -> String {
    let is_native = matches!(
        &target.format,
        Format::RemoteWrite {
            native: Some(_),
            ..
        }
    );
    match (target.kind, status) {
        (Kind::Prometheus, 404) => {
            "start Prometheus with --web.enable-remote-write-receiver, or correct the path".into()
        }
        (Kind::Influxdb, 404) => {
            "create the database or the bucket; omit bucket for servers before version 1.8".into()
        }
        (Kind::Otlp, 404) => "correct the path: a collector has /v1/metrics on port 4318".into(),
        (Kind::Prometheus, 500) if is_native => {
            "start Prometheus with --enable-feature=native-histograms, or omit native=true".into()
        }
        (Kind::Prometheus, 400) => {
            "use a server that has no later samples of this run, or correct the server's clock"
                .into()
        }
        (kind, 401 | 403) => kind.secrets().into(),
        (_, 413) => "raise the server's request size limit".into(),
        (_, 429) => "raise the server's rate limit, or push less often".into(),
        (_, 500..=599) => "read the server's log".into(),
        _ => "check that the URL names the server's endpoint".into(),
    }
}
