//! Sentences, decisions, and the first screen of a scenario.

use gatebench_report::Tone;
use gatebench_report::chapter::Fact;
use serde::Serialize;

use super::Metric;

/// A statement about a variant, a scenario or the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sentence {
    pub text: String,
    pub tone: Tone,
    /// The scenario that the sentence concerns; `None` for the whole run.
    pub scenario: Option<String>,
    /// The variant that the sentence concerns; `None` if it concerns no single variant.
    pub variant: Option<String>,
}

impl Sentence {
    pub(crate) fn new(
        tone: Tone,
        text: impl Into<String>,
        scenario: Option<&str>,
        variant: Option<&str>,
    ) -> Self {
        Self {
            text: text.into(),
            tone,
            scenario: scenario.map(str::to_owned),
            variant: variant.map(str::to_owned),
        }
    }
}

impl From<&Sentence> for Fact {
    fn from(sentence: &Sentence) -> Self {
        Self::of(&*sentence.text, sentence.tone)
    }
}

/// The decision of a study, or of a comparison between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing is wrong: the candidate is better or unchanged on the deciding metric in every
    /// scenario, a soak found no leak, failing requests harm no others, or a search for capacity
    /// found a rate for every gateway and the number of cores for a requested rate.
    Fine,
    /// The candidate is worse on the deciding metric in a scenario, a soak found a leak or a
    /// failure, or failing requests harm others.
    Worse,
    /// There is no verdict, for example because a scenario is not settled, or because the baseline
    /// differs from itself.
    Open,
}

impl Decision {
    pub(crate) fn tone(self) -> Tone {
        match self {
            Self::Fine => Tone::Plain,
            Self::Open => Tone::Caution,
            Self::Worse => Tone::Alarm,
        }
    }

    /// The symbol for the decision in Markdown.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Fine => "✅",
            Self::Worse => "❌",
            Self::Open => "❔",
        }
    }
}

/// The first screen: a few figures, a sentence on their meaning, and a sentence on how far to trust
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioSummary {
    pub columns: Vec<SummaryColumn>,
    /// Labels of the variants: the best gateway by verdicts, if there is one, the other gateways by
    /// their median cost, and then the direct variant.
    pub order: Vec<String>,
    /// States which gateway costs least (or is fastest, if no CPU time was measured) and by how
    /// much, if this can be shown.
    pub meaning: String,
    /// Plain if [`Self::meaning`] names the best gateway by verdicts or the only gateway; otherwise
    /// a caution.
    pub tone: Tone,
    /// States the number of blocks, whether they permit verdicts, and what limits the figures.
    pub trust: String,
}

/// A figure of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryColumn {
    pub metric: Metric,
    pub phase: String,
    /// The gateway that is better than every other one according to the verdicts, if there is one.
    pub best: Option<String>,
    /// True if the best gateway's figure is limited, but only by noise, for which the verdicts
    /// allow.
    pub is_best_noisy: bool,
}
