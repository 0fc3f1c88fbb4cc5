//! Recorded traffic from any source: the mix of requests, the rate over time, and the clients'
//! think times.
//!
//! Bodies are not recorded, and client addresses are kept only as hashes while the log is read.
//! Identifiers in paths are replaced, and values in queries are kept only if the user asks for
//! them.

mod curve;
mod identifier;
mod mix;
mod replay;
mod sizes;
mod think;
mod tree;
mod values;

pub(crate) use replay::write;

use curve::Curve;
use think::Think;
use tree::Tree;

use crate::options::{Hour, Replay};
use crate::time::HOUR_MS;

/// A request as a log records it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hit<'h> {
    /// The time on the log's clock, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    pub(crate) method: &'h str,
    /// The path and the query, or a whole URL.
    pub(crate) target: &'h str,
    pub(crate) status: u16,
    pub(crate) response_bytes: Option<u64>,
    pub(crate) request_bytes: Option<u64>,
    /// A string that identifies the client. Only its hash is stored.
    pub(crate) client: &'h [u8],
}

/// The methods that are replayed.
pub(crate) const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

/// Records traffic in a bounded amount of memory.
pub(crate) struct Recorder {
    tree: Tree,
    curve: Curve,
    think: Think,
    keeps_queries: bool,
    /// The hour to record; `None` for all hours.
    hour: Option<Hour>,
    /// The number of requests that cannot be replayed, such as CONNECT.
    skipped: u64,
}

impl Recorder {
    pub(crate) fn new(replay: &Replay) -> Self {
        Self {
            tree: Tree::default(),
            curve: Curve::default(),
            think: Think::default(),
            keeps_queries: replay.query_values,
            hour: replay.hour,
            skipped: 0,
        }
    }

    pub(crate) fn add(&mut self, hit: &Hit<'_>) {
        self.curve.count_hour(hit.at_ms);
        let is_within = |hour: Hour| (0..HOUR_MS).contains(&(hit.at_ms - hour.start_ms));
        if !self.hour.is_none_or(is_within) {
            return;
        }
        let method = METHODS.iter().position(|it| *it == hit.method);
        let path = absolute_path(hit.target);
        let (Some(method), Some(target)) = (method, path) else {
            self.skipped += 1;
            return;
        };
        self.curve.add(hit.at_ms);
        self.think.add(hit.client, hit.at_ms);
        self.tree.add(method, target, self.keeps_queries, hit);
    }

    pub(crate) fn requests(&self) -> u64 {
        self.curve.total()
    }
}

/// Returns the path and query of a target, or `None` if the target is neither a path nor an HTTP
/// URL.
fn absolute_path(target: &str) -> Option<&str> {
    if target.starts_with('/') {
        return Some(target);
    }
    let (scheme, rest) = target.split_once("://")?;
    let is_http = scheme == "http" || scheme == "https";
    is_http.then(|| rest.find('/').map_or("/", |at| &rest[at..]))
}
