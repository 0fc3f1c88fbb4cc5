//! An external load generator in place of gatebench's own engine: its identity and its figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::FileDigest;

/// The program and version of an external load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalGenerator {
    /// Its name: `wrk`, `h2load` or `k6`.
    pub name: String,
    /// The version that the program prints.
    pub version: String,
    /// The absolute path of the program.
    pub binary: String,
    /// The user's script that drives it, with its path as given; none if the scenario drives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<FileDigest>,
}

/// The figures that an external load generator printed for a phase. A figure that it does not print
/// is none or empty; no figure is derived from others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExternalFigures {
    /// Its name.
    pub engine: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Responses per second over its own measurement period.
    pub rate_per_second: f64,
    /// Response times at the percentiles that it printed, such as `99.9`.
    #[serde(default)]
    pub percentiles_ns: BTreeMap<String, u64>,
    /// The shortest response time.
    pub min_ns: Option<u64>,
    /// The mean response time.
    pub mean_ns: Option<u64>,
    /// The longest response time.
    pub max_ns: Option<u64>,
    /// Results of each check, with the groups that contain it: `login › status is 200`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, ExternalCheck>,
    /// Thresholds of the user's script; true if the threshold held.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, bool>,
    /// Groups of the user's script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Its further metrics, by name and statistic, in its own units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, BTreeMap<String, f64>>,
    /// Parts of the load that it cannot express exactly, or not at all.
    #[serde(default)]
    pub not_expressed: Vec<String>,
    /// Figures that gatebench's own engine measures and this one does not report.
    #[serde(default)]
    pub not_measured: Vec<String>,
}

/// The results of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCheck {
    /// Number of passes; none if the load generator counts failures only.
    pub passed: Option<u64>,
    /// Number of failures.
    pub failed: u64,
}
