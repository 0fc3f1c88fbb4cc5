//! The findings of a run, including those of its study, and the chapters that every run has.
//!
//! Numbers are in base units (nanoseconds, bytes, per second); [`gatebench_report::format`] formats
//! them for people.

pub(crate) mod chapters;
mod gateway_notes;
pub(crate) mod limitations;
pub mod proof;
pub mod redact;
pub(crate) mod run_facts;
pub(crate) mod sentences;
pub(crate) mod summary;
pub(crate) mod verdicts;

use gatebench_report::section::Section;
use serde::Serialize;

use crate::ab::chapter::Comment;
use crate::ab::facts::AbTestFindings;
use crate::common::facts::{
    Failure, MissingTrial, RunFacts, ScenarioFindings, Sentence, TrialFindings,
};
use crate::kind::StudyResult;
use crate::marginal_cost::facts::MarginalCostFindings;
use crate::policy_cost::facts::CostFindings;
use proof::{Configuration, Fact, ParityFindings};

pub use run_facts::{resume_line, shell_line};

/// The findings of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    pub run: RunFacts,
    /// One sentence per finding, those of the study first.
    pub headlines: Vec<Sentence>,
    /// The limits of the findings, such as too few blocks for a verdict or an interrupted run, and
    /// notes on the verdicts, the warm-ups, the gateways and the run.
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub study: StudyResult,
    /// The cost of policies compared with the plain proxy; `None` if no scenario with policies has
    /// a plain proxy.
    pub costs: Option<CostFindings>,
    /// The costs that grow with routes, consumers, upstreams and idle connections, for each family
    /// of scenarios or loads.
    pub marginal_costs: Vec<MarginalCostFindings>,
    /// Sections that only some runs have, each with a table, such as that of admin interfaces.
    pub sections: Vec<Section>,
    /// The scenarios in the plan's order.
    pub scenarios: Vec<ScenarioFindings>,
    /// Every trial that is on disk, in the order of the run.
    pub trials: Vec<TrialFindings>,
    pub missing: Vec<MissingTrial>,
    /// Trials that failed, with culprit and remedy, in the order of the run.
    pub failures: Vec<Failure>,
    /// The results of the parity tests: one entry for each scenario and variant in which parity was
    /// tested.
    pub parity: Vec<ParityFindings>,
    /// The configurations of the gateways: one entry for each scenario and variant.
    pub configurations: Vec<Configuration>,
    /// Facts about the machine, flattened to lines, in the manifest's order.
    pub environment: Vec<Fact>,
}

impl Findings {
    /// Returns the comment on a pull request, if the run is an A/B test.
    pub fn comment(&self) -> Option<Comment<'_>> {
        Some(Comment {
            ab_test: self.study.of::<AbTestFindings>()?,
            run: &self.run,
            scenarios: &self.scenarios,
        })
    }
}
