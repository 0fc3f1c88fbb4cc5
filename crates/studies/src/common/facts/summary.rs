//! The first screen of a scenario.

use gatebench_report::Tone;
use serde::Serialize;

use super::Metric;

/// The first screen: a few figures, a sentence on their meaning, and a sentence on how far to trust
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioSummary {
    /// The figures, in the order of the columns.
    pub columns: Vec<SummaryColumn>,
    /// Labels of the variants, the gateway that costs least first.
    pub order: Vec<String>,
    /// States which gateway costs least and by how much, or why that is not decided.
    pub meaning: String,
    /// A caution if it is not decided which gateway costs least.
    pub tone: Tone,
    /// The grounds for that statement, and the limits of the figures.
    pub trust: String,
}

/// A figure of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryColumn {
    pub metric: Metric,
    /// Name of the phase in which it was measured.
    pub phase: String,
    /// The gateway that, by the verdicts, is better than every other one; none without such
    /// verdicts.
    pub best: Option<String>,
}
