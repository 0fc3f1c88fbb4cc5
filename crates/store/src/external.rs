//! An external load generator in place of gatebench's own engine: its identity and its figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::FileDigest;

/// The program and version of an external load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalGenerator {
    /// Its name: `wrk`, `h2load` or `k6`.
    pub name: String,
    /// What the program answered when asked.
    pub version: String,
    /// The program, absolute.
    pub binary: String,
    /// A script of the user's that drives it, with its path as it was given; none where the
    /// scenario does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<FileDigest>,
}

/// The figures that an external load generator printed for a phase. A figure that it does not print
/// is none or empty; none is derived from others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExternalFigures {
    /// Its name.
    pub engine: String,
    /// The command, word by word.
    pub command: Vec<String>,
    /// Answers per second, over its own measurement.
    pub rate_per_second: f64,
    /// Response times at the percentiles that it told, as in `99.9`.
    #[serde(default)]
    pub percentiles_ns: BTreeMap<String, u64>,
    /// The shortest response time.
    #[serde(default)]
    pub min_ns: Option<u64>,
    /// The mean response time.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// The longest response time.
    #[serde(default)]
    pub max_ns: Option<u64>,
    /// How often each check was made, with the groups it lies in: `login › status is 200`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, ExternalCheck>,
    /// Thresholds of the user's script, and whether each held.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, bool>,
    /// Groups of the user's script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Its further metrics, by name and statistic, in its own units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, BTreeMap<String, f64>>,
    /// What was asked for and done otherwise, or not.
    #[serde(default)]
    pub not_expressed: Vec<String>,
    /// What gatebench's own engine measures and this one does not tell.
    #[serde(default)]
    pub not_measured: Vec<String>,
}

/// How often a check was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCheck {
    /// How often it held; none where the engine counts failures only.
    #[serde(default)]
    pub passed: Option<u64>,
    /// How often it did not.
    pub failed: u64,
}
