//! The comparison of a run with another run, or with several.

use gatebench_report::{Unit, Validity};
use gatebench_stats::{Comparison, Direction, Estimate};
use gatebench_store::Timestamp;
use serde::Serialize;

use crate::common::facts::{Decision, Metric, PhaseKind, Sentence};

/// A run against another, or against several.
#[derive(Clone, Debug, Serialize)]
pub struct CompareFindings {
    /// The run that is judged.
    pub candidate: RunLine,
    /// The runs that it is compared with, the oldest first.
    pub baseline: Vec<RunLine>,
    /// The kind of the comparison, with one run or with several.
    pub mode: CompareMode,
    /// The metric that decides.
    pub metric: Metric,
    pub decision: Decision,
    /// Why, in a sentence with its full stop.
    pub text: String,
    /// Notes on the comparison as a whole.
    pub notes: Vec<Sentence>,
    /// The differences between the runs besides their figures, the gravest first.
    pub differences: Vec<RunDifference>,
    /// Every scenario, gateway and metric that both sides have, what decides first.
    pub cells: Vec<CellFindings>,
}

/// The kind of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareMode {
    /// With another, by the blocks of each.
    Blocks,
    /// With several others, by the differences among those.
    Runs,
}

/// Identifies one of the compared runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Its directory as it was named.
    pub name: String,
    /// Name of the suite.
    pub suite: String,
    /// When it began.
    pub created: Timestamp,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// Blocks of which every trial is on disk.
    pub blocks: u32,
}

/// Something that differs between the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunDifference {
    /// The consequence for the comparison.
    pub weight: Weight,
    /// The name of the difference, as in `version of nginx`.
    pub what: String,
    /// The run of the baseline; empty if it has no such thing.
    pub baseline: String,
    /// The candidate; empty if it has no such thing.
    pub candidate: String,
}

/// The consequence of a difference between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing may be compared.
    Forbids,
    /// A part is left out.
    LeavesOut,
    /// It may be the reason why figures differ.
    Caution,
    /// The subject of the comparison: another program, version, folder or setting of a gateway.
    Subject,
    /// It changes nothing.
    #[serde(rename = "told")]
    Noted,
}

/// The purpose of a cell that is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Program, folder and settings are the same in both: what differs is the machine.
    SameGateway,
    /// There is no gateway.
    #[serde(rename = "floor")]
    Direct,
}

/// A metric of a gateway in a scenario, on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct CellFindings {
    pub scenario: String,
    /// Label of the variant.
    pub gateway: String,
    /// The kind of control that shows changes of the machine; none if the gateway is judged.
    pub control: Option<Control>,
    /// Name of the phase.
    pub phase: String,
    /// The load: `64 connections`, `5,000 requests/s`.
    pub load: String,
    pub kind: PhaseKind,
    /// Which metric.
    pub metric: Metric,
    /// Unit of the estimates.
    pub unit: Unit,
    /// Which values are good.
    pub direction: Direction,
    /// True for the metric that decides.
    pub primary: bool,
    /// The smallest effect that matters: 0.02 is two per cent either way.
    pub smallest_effect: f64,
    /// Blocks of the candidate.
    pub candidate: Estimate,
    /// Blocks of the baseline, or the values of its runs.
    pub baseline: Estimate,
    /// Worst validity of both.
    pub validity: Validity,
    /// Ratio, interval and verdict.
    pub result: Comparison,
    /// The comparison as a sentence, with its full stop.
    pub text: String,
}
