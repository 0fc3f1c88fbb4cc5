//! Converts existing files to gatebench files. A gateway's configuration becomes a scenario, a
//! suite and a configuration that gatebench can run. Recorded traffic becomes a scenario, load
//! profiles and a suite.
//!
//! ```text
//! kong, apisix, kubernetes, openapi ── Api ────┐
//! access log, HAR ── Mix, curve, think ────────┼──> Folder: scenario, load, suite, configuration
//! k6, testrun ── Script, Load ─────────────────┘
//!
//! nginx.conf, haproxy.cfg, envoy.yaml, kong.yml, apisix.yaml ── wire ──> OwnConfig
//! ```
//!
//! The crate converts text to text. It opens no files and writes nothing to a terminal.

mod access_log;
mod api;
mod apisix;
mod defaults;
mod error;
mod folder;
mod har;
mod k6;
mod keys;
mod kong;
mod kubernetes;
mod log;
mod name;
mod omitted;
mod openapi;
mod options;
mod regex_sample;
mod testrun;
mod time;
mod traffic;
mod wire;

pub use access_log::{AccessLog, Progress};
pub use error::ImportError;
pub use folder::{Folder, NewFile};
pub use log::{Effect, Note};
pub use options::{Hour, NotAnHour, Options, Replay};
pub use testrun::{KnownSuite, TestRunFile, TestRuns, read_testruns};
pub use wire::{Change, Files, Language, OwnConfig, ReadIncluded, wire};

/// A kind of input that consists of a single string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A declarative configuration of Kong or a decK file, format 1.x to 3.x.
    Kong,
    /// The configuration file of APISIX's standalone mode.
    Apisix,
    /// Resources of the Gateway API.
    Kubernetes,
    /// An OpenAPI document, 3.0 or 3.1.
    Openapi,
    /// Traffic recorded by a browser (HTTP Archive 1.2).
    Har,
    /// A k6 script, or the output of `k6 inspect`.
    K6,
}

/// Imports a document.
///
/// # Errors
/// Returns all mistakes in the text, each with its line and remedy, or the reason why the text
/// contains nothing to import.
pub fn import(kind: TextKind, text: &str, options: &Options) -> Result<Folder, ImportError> {
    match kind {
        TextKind::Kong => kong::import(text, options),
        TextKind::Apisix => apisix::import(text, options),
        TextKind::Kubernetes => kubernetes::import(text, options),
        TextKind::Openapi => openapi::import(text, options),
        TextKind::Har => har::import(text, options),
        TextKind::K6 => k6::import(text, options),
    }
}
