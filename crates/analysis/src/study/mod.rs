//! The studies that runs are made for, each in a module of its own: the next step while a run is
//! under way, and the result of the run. Both are computed from the same records, so the report and
//! the run agree.

pub(crate) mod ab;
mod capacity;
mod cold_start;
mod isolation;
mod measure;
mod next;
mod profile;
mod soak;

use gatebench_model::Study;
use gatebench_store::StoreError;

pub use next::{FurtherLoad, Next, after_block, after_load};

use crate::collect::Collected;
use crate::combined;
use crate::context::Context;
use crate::findings::{
    AbTestFindings, CapacityFindings, CombinedFindings, IsolationFindings, ScenarioFindings,
    SectionFindings, Sentence, SoakFindings,
};

/// The result of a run's study, as far as it was measured. The fields of other studies are empty.
#[derive(Default)]
pub(crate) struct StudyFindings {
    /// The headlines, which open the report.
    pub(crate) headlines: Vec<Sentence>,
    pub(crate) ab_test: Option<AbTestFindings>,
    pub(crate) capacity: Option<CapacityFindings>,
    pub(crate) soak: Option<SoakFindings>,
    pub(crate) isolation: Vec<IsolationFindings>,
    pub(crate) combined: Option<CombinedFindings>,
    /// Tables and graphs of studies without findings of their own.
    pub(crate) sections: Vec<SectionFindings>,
}

/// Returns the result of the study that the run was made for.
///
/// # Errors
/// [`StoreError`] naming the file, where histograms, series or profiles cannot be read.
pub(crate) fn findings(
    context: &Context,
    collected: &Collected<'_>,
    scenarios: &[ScenarioFindings],
) -> Result<StudyFindings, StoreError> {
    let mut found = StudyFindings::default();
    match &context.plan.study {
        Study::Measure(None) => {}
        Study::Measure(Some(shares)) => {
            found.sections = measure::section(context, collected, shares)
                .into_iter()
                .collect();
        }
        Study::Ab(ab_test) => {
            let ab_test = ab::findings(context, ab_test, scenarios);
            found.headlines = ab::headlines(&ab_test).collect();
            found.ab_test = Some(ab_test);
        }
        Study::Capacity(capacity) => {
            let capacity = capacity::findings(context, capacity)?;
            found.headlines = capacity::headlines(&capacity);
            found.capacity = Some(capacity);
        }
        Study::Soak(soak) => {
            found.soak = soak::findings(context, soak)?;
            found.headlines = found.soak.iter().map(soak::headline).collect();
        }
        Study::Profile(_) => {
            let flames = profile::of_run(context)?;
            found.headlines = flames.headlines;
            found.sections = flames.sections;
        }
        Study::Isolation(tests) => {
            found.isolation = isolation::findings(context, collected, tests);
            found.headlines = found.isolation.iter().map(isolation::headline).collect();
        }
        Study::Versions(_) => {
            found.combined = combined::findings(context, collected)?;
            let combined = found.combined.iter();
            found.headlines = combined.flat_map(combined::headlines).collect();
        }
        Study::ColdStart(study) => {
            let starts = cold_start::of_run(context, collected, *study);
            found.headlines = starts.headlines;
            found.sections = starts.section.into_iter().collect();
        }
    }
    Ok(found)
}

/// Returns the basis of the verdict of a study, and its error rate, if it has one.
pub(crate) fn note(context: &Context) -> Option<String> {
    let ab_test = context.plan.study.ab()?;
    Some(ab::note(context, ab_test))
}
