//! Selects one scenario and one load by a user's arguments, without a run.

use std::path::Path;

use gatebench_model::{LoadProfile, Scenario};

use super::library::Library;
use super::selection::Selection;
use super::suite::suite_of;
use crate::error::RunnerError;

/// Returns the scenario and the load with these names or from these files, with a phase for each
/// number of a sweep. The default load is that of the tour.
///
/// # Errors
/// A name is unknown, or a file has mistakes.
pub fn scenario_and_load(
    scenario: &str,
    load: Option<&str>,
    library: &Library,
) -> Result<(Scenario, LoadProfile), RunnerError> {
    let here = Path::new("");
    let scenario = library.find::<Scenario>(scenario, here)?.document;
    let load = match load {
        Some(word) => library.find::<LoadProfile>(word, here)?,
        None => {
            let (tour, base) = suite_of(&Selection::default(), library)?;
            library.find::<LoadProfile>(&tour.load, &base)?
        }
    };
    Ok((scenario, load.document.expanded()))
}
