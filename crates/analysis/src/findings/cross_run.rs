//! What two runs, or a run and several others, say of each other.

use gatebench_stats::{Comparison, Direction, Estimate};
use gatebench_store::Timestamp;
use serde::Serialize;

use super::{Decision, Metric, PhaseKind, Sentence, Unit, Validity};

/// A run against another, or against several.
#[derive(Clone, Debug, Serialize)]
pub struct CompareFindings {
    /// The run that is judged.
    pub candidate: RunLine,
    /// What it is compared with, the oldest first.
    pub baseline: Vec<RunLine>,
    /// Whether there is one run of a baseline, or several.
    pub mode: CompareMode,
    /// What decides.
    pub metric: Metric,
    /// What it means for whoever asked.
    pub decision: Decision,
    /// Why, in a sentence with its full stop.
    pub text: String,
    /// What a reader must know of the comparison as a whole.
    pub notes: Vec<Sentence>,
    /// What differs between the runs besides their figures, the gravest first.
    pub differences: Vec<RunDifference>,
    /// Every scenario, gateway and metric that both sides have, what decides first.
    pub cells: Vec<CellFindings>,
}

/// How a run is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareMode {
    /// With another, by the blocks of each.
    Blocks,
    /// With several others, by what those differ by among themselves.
    Runs,
}

/// A run in a line.
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
    /// What it follows for the comparison.
    pub weight: Weight,
    /// What differs, as in `version of nginx`.
    pub what: String,
    /// The run of the baseline; empty where it has no such thing.
    pub baseline: String,
    /// The candidate; empty where it has no such thing.
    pub candidate: String,
}

/// What a difference between runs means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Nothing may be compared.
    Forbids,
    /// A part is left out.
    LeavesOut,
    /// It may be why figures differ.
    Caution,
    /// It is what the comparison is about: another program, version, folder or setting of a gateway.
    Subject,
    /// It changes nothing.
    Told,
}

/// What a cell is for, where it is not judged.
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
    /// The scenario.
    pub scenario: String,
    /// Label of the variant.
    pub gateway: String,
    /// What tells of the machine, and not of a change; none where the gateway is judged.
    pub control: Option<Control>,
    /// Name of the phase.
    pub phase: String,
    /// The load: `64 connections`, `5,000 requests/s`.
    pub load: String,
    /// Its kind.
    pub kind: PhaseKind,
    /// Which metric.
    pub metric: Metric,
    /// Unit of the estimates.
    pub unit: Unit,
    /// Which values are good.
    pub direction: Direction,
    /// Whether it is the metric that decides.
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
