//! The first screen of a scenario.

use gatebench_report::Tone;
use serde::Serialize;

use super::Metric;

/// The first screen: a few figures, one sentence on what they mean, and one on how far to trust
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioSummary {
    /// The figures, in the order of the columns.
    pub columns: Vec<SummaryColumn>,
    /// Labels of the variants, the gateway that costs least first.
    pub order: Vec<String>,
    /// Which gateway costs least, and by how much; or why that is not decided.
    pub meaning: String,
    /// A caution if the sentence leaves open which gateway costs least.
    pub tone: Tone,
    /// The grounds of the sentence, and the limits of the figures.
    pub trust: String,
}

/// A figure of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryColumn {
    /// Which metric.
    pub metric: Metric,
    /// Name of the phase in which it was measured.
    pub phase: String,
    /// The gateway that verdicts find better than each other one; none without these verdicts.
    pub best: Option<String>,
}
