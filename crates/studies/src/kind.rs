//! The interface of all studies: the next step during a run, and the result. Both are computed from
//! the same records, so the report and the run agree. Each study's settings implement [`StudyKind`]
//! in the study's folder.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use gatebench_model::{LoadProfile, Phase, Plan, Study, Variant};
use gatebench_report::chapter::Chapter;
use gatebench_report::palette::Palette;
use gatebench_report::section::Section;
use gatebench_store::{PhaseRecord, StoreError, TaggedInterval, TrialRecord};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::choice::PlanError;
use crate::common::collect::Collected;
use crate::common::context::Context;
use crate::common::facts::{Decision, ScenarioFindings, Sentence};

pub(crate) trait StudyKind {
    /// Checks that the loads of a plan fit the study.
    fn check(&self, _plan: &Plan) -> Result<(), PlanError> {
        Ok(())
    }

    /// Describes the loads that follow those of the profile, for readers of the plan.
    fn further_loads(&self) -> Option<String> {
        None
    }

    /// Plans what an interrupted run needs in addition to its missing trials.
    fn resume(&self, _plan: &mut Plan, _records: &[&TrialRecord]) {}

    /// Returns the next step after the most recent load of a gateway's trial. `current` is the
    /// record of this trial so far. If the study needs them, `earlier` contains the completed
    /// trials of the same gateway in the same scenario, ordered by start time.
    fn after_load(&self, _plan: &Plan, _earlier: &[TrialRecord], _current: &TrialRecord) -> Next {
        Next::Continue
    }

    /// Returns the next step after `done` blocks of the run in `dir`, before block number `next`.
    /// This step is never a load.
    ///
    /// # Errors
    /// Fails with a [`StoreError`] that names the file of the run that cannot be read.
    fn after_block(&self, _dir: &Path, _done: u32, _next: u32) -> Result<Next, StoreError> {
        Ok(Next::Continue)
    }

    /// Computes the study's findings from the measurements so far.
    ///
    /// # Errors
    /// Fails with a [`StoreError`] that names the file if histograms, series or profiles cannot be
    /// read.
    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError>;

    /// Returns an explanation of the verdict and its error rate, if the study has a verdict.
    fn note(&self, _context: &Context) -> Option<String> {
        None
    }
}

/// A run, with the facts that do not depend on its study.
pub(crate) struct Analysed<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) collected: &'a Collected<'a>,
    pub(crate) scenarios: &'a [ScenarioFindings],
}

pub(crate) fn of(study: &Study) -> &dyn StudyKind {
    match study {
        Study::Measure(it) => it,
        Study::Ab(it) => it,
        Study::Capacity(it) => it,
        Study::Soak(it) => it,
        Study::Profile(it) => it,
        Study::Isolation(it) => it,
        Study::Versions(it) => it,
        Study::ColdStart(it) => it,
    }
}

/// Checks that the loads of a plan fit its study.
///
/// # Errors
/// Fails if the loads contradict the study, or if a load starts cold and has a side-by-side phase.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    of(&plan.study).check(plan)?;
    let mut loads = plan.scenarios.iter().map(|it| plan.load_of(&it.scenario));
    let is_met = |load: &&LoadProfile| load.cold && load.phases.iter().any(|it| it.side_by_side);
    match loads.find(is_met) {
        None => Ok(()),
        Some(load) => Err(PlanError::ColdSideBySide {
            profile: load.profile.clone(),
        }),
    }
}

/// Describes the loads that a study adds to those of the profile.
pub fn further_loads(study: &Study) -> Option<String> {
    of(study).further_loads()
}

/// Plans what an interrupted run needs in addition to its missing trials.
pub fn resume(plan: &mut Plan, records: &[&TrialRecord]) {
    let study = plan.study.clone();
    of(&study).resume(plan, records);
}

/// The next step after the loads and blocks measured so far.
pub enum Next {
    Continue,
    /// Another load on the same gateway process.
    Load(FurtherLoad),
    /// After a load, the trial gets no further load; after a block, the run gets no further
    /// deciding block. The string is the reason.
    Stop(String),
}

/// A load that the study adds to those of the plan.
pub struct FurtherLoad {
    pub phase: Box<Phase>,
    /// True if the load is a step of a search, in which each step determines the next one.
    pub is_step: bool,
    mark: Mark,
}

type Mark = Box<dyn Fn(&mut PhaseRecord, &[TaggedInterval])>;

impl FurtherLoad {
    pub(crate) fn new(
        phase: Phase,
        is_step: bool,
        mark: impl Fn(&mut PhaseRecord, &[TaggedInterval]) + 'static,
    ) -> Self {
        Self {
            phase: Box::new(phase),
            is_step,
            mark: Box::new(mark),
        }
    }

    /// Writes the load's purpose and, for a step of a search, its outcome into its record.
    pub fn mark(&self, record: &mut PhaseRecord, histograms: &[TaggedInterval]) {
        (self.mark)(record, histograms);
    }
}

/// Returns the next step of a plan's study after the most recent load of a trial, like
/// `StudyKind::after_load`. The direct variant and the null gateway have only the loads of the
/// plan.
pub fn after_load(plan: &Plan, earlier: &[TrialRecord], current: &TrialRecord) -> Next {
    let variant = plan.variant(&current.trial.variant);
    if variant.is_none_or(Variant::is_control) {
        return Next::Continue;
    }
    of(&plan.study).after_load(plan, earlier, current)
}

/// Returns the next step of a study after `done` blocks of the run in `dir`, before block number
/// `next`. This step is never a load.
///
/// # Errors
/// Fails with a [`StoreError`] that names the file of the run that cannot be read.
pub fn after_block(study: &Study, dir: &Path, done: u32, next: u32) -> Result<Next, StoreError> {
    of(study).after_block(dir, done, next)
}

#[derive(Default)]
pub(crate) struct StudyFindings {
    pub(crate) headlines: Vec<Sentence>,
    pub(crate) result: StudyResult,
    /// Tables and graphs that are not part of `result`.
    pub(crate) sections: Vec<Section>,
}

impl StudyFindings {
    pub(crate) fn new(facts: impl StudyFacts + Serialize, headlines: Vec<Sentence>) -> Self {
        Self {
            headlines,
            result: StudyResult::new(facts),
            sections: Vec::new(),
        }
    }
}

/// The typed result of a study.
pub trait StudyFacts: Any + Debug + Send + Sync {
    /// Returns the key of this result in the JSON of the findings.
    fn key(&self) -> &'static str;

    /// Returns the chapter of the report, if the study has a separate one.
    fn chapter(&self, _palette: &Palette) -> Option<Chapter> {
        None
    }

    fn decision(&self) -> Option<Decision> {
        None
    }

    /// Returns the sentences that state the decision.
    fn decided(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The JSON keys of studies' results. The JSON of every run has all these keys; for studies other
/// than the run's, their values are null or an empty list. A newer study's key is present only in
/// the JSON of its own runs.
const KEYS: [&str; 5] = ["ab_test", "capacity", "soak", ISOLATION, "specification"];

/// The only key whose value is a list: a run can have several isolation tests.
const ISOLATION: &str = "isolation";

/// The typed result of the run's study; empty for a run that only measures, and for a study without
/// a typed result.
#[derive(Clone, Debug, Default)]
pub struct StudyResult(Option<(Arc<dyn StudyFacts>, Value)>);

impl StudyResult {
    /// Stores a result together with its JSON.
    ///
    /// # Panics
    /// Panics if the result has keys that are not strings.
    pub fn new(facts: impl StudyFacts + Serialize) -> Self {
        let json = serde_json::to_value(&facts).expect("results have string keys only");
        Self(Some((Arc::new(facts), json)))
    }

    pub fn facts(&self) -> Option<&dyn StudyFacts> {
        Some(&*self.0.as_ref()?.0)
    }

    /// Returns the result, if it is of this type.
    pub fn of<T: StudyFacts>(&self) -> Option<&T> {
        let facts: &dyn Any = self.facts()?;
        facts.downcast_ref()
    }
}

impl Serialize for StudyResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(KEYS.len()))?;
        for key in KEYS {
            match &self.0 {
                Some((facts, json)) if facts.key() == key => map.serialize_entry(key, json)?,
                _ if key == ISOLATION => map.serialize_entry(key, &[(); 0])?,
                _ => map.serialize_entry(key, &())?,
            }
        }
        if let Some((facts, json)) = &self.0
            && !KEYS.contains(&facts.key())
        {
            map.serialize_entry(facts.key(), json)?;
        }
        map.end()
    }
}
