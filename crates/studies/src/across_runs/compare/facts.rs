//! The result of comparing a run with another run, or with several.

use gatebench_report::{Unit, Validity};
use gatebench_stats::{Comparison, Direction, Estimate};
use gatebench_store::Timestamp;
use serde::Serialize;

use crate::common::facts::{Decision, Metric, PhaseKind, Sentence};

/// A run, judged against a baseline of one or several runs.
#[derive(Clone, Debug, Serialize)]
pub struct CompareFindings {
    pub candidate: RunLine,
    /// The runs of the baseline that can be compared with the candidate, in the order in which the
    /// user named them; all runs of the baseline if none can.
    pub baseline: Vec<RunLine>,
    pub mode: CompareMode,
    /// The metric that decides.
    pub metric: Metric,
    pub decision: Decision,
    /// The reason for the decision, as one or more sentences.
    pub text: String,
    pub notes: Vec<Sentence>,
    /// The differences between the candidate and the last run in [`Self::baseline`], other than in
    /// their figures; the most serious first.
    pub differences: Vec<RunDifference>,
    /// A cell for each scenario, gateway, load and metric for which both sides have usable values;
    /// the deciding metric comes first.
    pub cells: Vec<CellFindings>,
}

/// The kind of baseline, which determines the statistical method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareMode {
    /// Another run; the comparison uses the blocks of both runs.
    Blocks,
    /// Several runs; the comparison uses the variation among them.
    Runs,
}

/// Identifies one of the compared runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// The run's directory: the path that the user wrote, or the name in the folder of runs.
    pub name: String,
    pub suite: String,
    /// Start of the run.
    pub created: Timestamp,
    /// The version of gatebench that measured the run.
    pub gatebench: String,
    /// Blocks in which every trial ended without being interrupted.
    pub blocks: u32,
}

/// A difference between the runs, other than in their figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunDifference {
    pub weight: Weight,
    /// The property that differs, such as `version of nginx`.
    pub what: String,
    /// The value in the baseline; empty if the baseline has none.
    pub baseline: String,
    /// The value in the candidate; empty if the candidate has none.
    pub candidate: String,
}

/// The consequence of a difference between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing can be compared.
    Forbids,
    /// The affected part is left out, such as a scenario or a gateway.
    LeavesOut,
    /// The difference may explain different figures.
    Caution,
    /// The difference is the subject of the comparison: another program, version, folder or setting
    /// of a gateway.
    Subject,
    /// The difference does not affect the comparison.
    Noted,
}

/// The kind of control: a cell that shows whether the machine changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// The gateway's program, folder and settings are the same in both runs.
    SameGateway,
    /// The direct variant, which has no gateway.
    Direct,
}

/// A metric of a gateway in a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    pub scenario: String,
    /// Label of the variant.
    pub gateway: String,
    /// The kind of control; `None` if the gateway is the subject of the comparison.
    pub control: Option<Control>,
    pub phase: String,
    /// The load: `64 connections`, `5,000 requests/s`.
    pub load: String,
    pub kind: PhaseKind,
    pub metric: Metric,
    pub unit: Unit,
    pub direction: Direction,
    /// True for the metric that decides the comparison.
    pub primary: bool,
}

/// A metric of a gateway in a scenario, as both sides measured it.
#[derive(Clone, Debug, Serialize)]
pub struct CellFindings {
    #[serde(flatten)]
    pub place: Place,
    /// The smallest effect that matters: 0.02 is two percent in either direction.
    pub smallest_effect: f64,
    /// The estimate from the candidate's blocks.
    pub candidate: Estimate,
    /// The estimate from the baseline's blocks or, in [`CompareMode::Runs`], from one value for
    /// each of its runs.
    pub baseline: Estimate,
    /// The worse validity of the two sides.
    pub validity: Validity,
    pub result: Comparison,
    pub text: String,
}
