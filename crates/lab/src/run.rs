//! A run: the plan, trial by trial.

use std::path::PathBuf;

use gatebench_drivers::Launcher;
use gatebench_net::Backend;

use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::prepare::Prepared;
use crate::progress::Observer;

/// Everything a run needs.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The plan and its gateways, from [`crate::prepare`] or [`crate::prepare_resume`].
    pub prepared: Prepared,
    /// The run directory.
    pub out: PathBuf,
    /// Whether `out` holds a run that is taken up again.
    pub resume: bool,
    /// The program that supervises gateways and serves as upstream.
    pub launcher: Launcher,
    /// The command line, word by word, for the manifest.
    pub command_line: Vec<String>,
    /// The engine's event loop; `None` takes the best the kernel grants.
    pub backend: Option<Backend>,
}

/// How a run came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run directory.
    pub dir: PathBuf,
    /// Trials of the plan.
    pub planned: u32,
    /// Trials on disk that were completed.
    pub completed: u32,
    /// Trials whose gateway lacks a policy.
    pub not_supported: u32,
    /// Trials that failed.
    pub failed: u32,
    /// Whether someone stopped the run before its end.
    pub interrupted: bool,
}

/// Runs the plan. Every finished trial is on disk before the next one starts; a trial that fails
/// is kept with its reason, and the run goes on.
///
/// # Errors
/// The run directory, the cores or the descriptors cannot be had, or two trials in a row failed
/// because of the environment. What was finished is kept.
pub fn run(
    _request: &RunRequest,
    _interrupt: &Interrupt,
    _observer: &dyn Observer,
) -> Result<RunSummary, LabError> {
    Err(LabError::environment("the conductor is being written", "wait"))
}
