//! The result of a search for changes over many runs.

use gatebench_report::Unit;
use gatebench_stats::Direction;
use gatebench_store::Timestamp;
use serde::Serialize;

use crate::common::facts::{Metric, Sentence};

/// The history of a folder of runs.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryFindings {
    /// One sentence for each finding, changes for the worse first.
    pub headlines: Vec<Sentence>,
    /// The runs, oldest first.
    pub runs: Vec<HistoryRun>,
    /// A series for each gateway, scenario and metric under the same conditions.
    pub series: Vec<SeriesFindings>,
}

/// A run, which contributes at most one point to each series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// Name of the run's directory in the folder of runs.
    pub dir: String,
    /// Start of the run.
    pub created: Timestamp,
    pub suite: String,
    /// The version of gatebench that measured the run.
    pub gatebench: String,
    /// Blocks in which every trial ended without being interrupted.
    pub blocks: u32,
    /// The reason why the run is in no series; `None` if the run may be in a series.
    pub left_out: Option<String>,
}

/// A metric of a gateway in a scenario, run by run.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesFindings {
    pub scenario: String,
    /// Label of the variant.
    pub gateway: String,
    /// The load: `64 connections`, `5,000 requests/s`.
    pub load: String,
    pub metric: Metric,
    pub unit: Unit,
    pub direction: Direction,
    /// A digest of the machine, load, scenario, load generator, size of the gateway and unusual
    /// accounting of CPU time. All points of a series have the same digest.
    pub conditions: String,
    /// A point for each run that has a usable value, oldest first.
    pub points: Vec<SeriesPoint>,
    /// True if the series has enough usable points to detect a change.
    pub searched: bool,
    pub changes: Vec<SeriesChange>,
}

/// One run's value in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// The index of the run in the history, from 0.
    pub run: usize,
    pub version: String,
    /// Median of the run's blocks.
    pub value: f64,
    pub min: f64,
    pub max: f64,
    pub blocks: u32,
    /// True if the validity of the value is limited. The point is shown, but not searched.
    pub limited: bool,
    /// The value of the same run's direct variant, which depends on the machine but not on the
    /// gateway.
    pub control: Option<f64>,
    /// Blocks that the gateway spoiled or may have spoiled. The other blocks may look better as a
    /// result, so the point is shown, but not searched.
    pub spoiled: u32,
}

/// A change in the level of a series, with the values before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesChange {
    /// The index of the first point after the change, from 0 in the series.
    pub at: usize,
    /// Directory of the first run after the change.
    pub run: String,
    /// Directory of the last run before the change.
    pub after_run: String,
    /// Geometric mean of the values from the previous change, or from the beginning, to this
    /// change.
    pub before: f64,
    /// Geometric mean of the values from this change to the next, or to the end.
    pub after: f64,
    /// Ratio of the two means, without the direct variant's change.
    pub net: f64,
    /// The estimated share of random orders of the runs that show a change of at least this size.
    pub p: f64,
    /// Directory of the run that completed the looks required to report the change.
    pub told_with: String,
    pub worse: bool,
    pub text: String,
}
