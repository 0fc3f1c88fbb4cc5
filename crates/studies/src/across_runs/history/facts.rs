//! The history of gateways over many runs.

use gatebench_report::Unit;
use gatebench_stats::Direction;
use gatebench_store::Timestamp;
use serde::Serialize;

use crate::common::facts::{Metric, Sentence};

/// The history of a folder of runs.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryFindings {
    /// One sentence per finding, changes to the worse first.
    pub headlines: Vec<Sentence>,
    /// The runs, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// Every gateway, scenario and metric under the same conditions.
    pub series: Vec<SeriesFindings>,
}

/// The run behind one point of each series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// Its folder.
    pub dir: String,
    /// When it began.
    pub created: Timestamp,
    /// Name of the suite.
    pub suite: String,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// Blocks of which every trial is on disk.
    pub blocks: u32,
    /// Why it is in no series; none if it may be.
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
    /// Which metric.
    pub metric: Metric,
    /// Unit of all values.
    pub unit: Unit,
    /// Which values are good.
    pub direction: Direction,
    /// A digest of machine, load, scenario, engine and size: only runs that share it are in one
    /// series.
    pub conditions: String,
    /// The runs in order.
    pub points: Vec<SeriesPoint>,
    /// True if it is long enough to detect a change.
    pub searched: bool,
    /// Where it changes.
    pub changes: Vec<SeriesChange>,
}

/// A run in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// The run, counted from 0 in the history's order.
    pub run: usize,
    /// Version of the gateway.
    pub version: String,
    /// Median of the run's blocks.
    pub value: f64,
    /// The smallest block.
    pub min: f64,
    /// The largest block.
    pub max: f64,
    pub blocks: u32,
    /// True if something other than the gateway limited it; such a point is shown and not searched.
    pub limited: bool,
    /// The value of the same run's direct variant, whose changes are the machine's.
    pub control: Option<f64>,
    /// Blocks that the gateway spoiled itself. The others may look better for it, so such a point
    /// is shown and not searched.
    pub spoiled: u32,
}

/// A run from which the level of a series differs, with the sizes before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesChange {
    /// The first point after it, counted from 0 among the series' points.
    pub at: usize,
    /// Folder of the first run after it.
    pub run: String,
    /// Folder of the last run before it.
    pub after_run: String,
    /// Geometric mean from the change before it, or the beginning, up to it.
    pub before: f64,
    /// Geometric mean from it to the next change, or the end.
    pub after: f64,
    /// Ratio of the two without the direct variant's change.
    pub net: f64,
    /// Share of random orders that show a change as large.
    pub p: f64,
    /// Folder of the run that completed the looks needed to report the change.
    pub told_with: String,
    /// True if the figure got worse.
    pub worse: bool,
    /// The change as a sentence, with its full stop.
    pub text: String,
}
