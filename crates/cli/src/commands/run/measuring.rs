//! What every command that measures takes and does alike.

use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_gateway::library_versions;
use gatebench_model::HumanDuration;
use gatebench_runner::{Prepared, RunRequest, Selection, prepare, prepare_resume};

use super::conduct::{self, Conducted};
use super::{dry_run, out};
use crate::commands::values::{BackendWord, Overlay, launcher};
use crate::failure::Failure;

/// Options of every command that measures.
#[derive(Debug, Args)]
pub struct Measuring {
    /// Use this event loop for the built-in load generator [default: io_uring if the kernel allows
    /// it, otherwise epoll]
    #[arg(long)]
    backend: Option<BackendWord>,
    /// Write the run to this directory [default: ./gatebench-runs/NAME-TIME]
    #[arg(long, alias = "out", value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print the plan and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Print the findings as JSON; with --dry-run, print the plan
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub overlay: Overlay,
}

impl Measuring {
    /// Plans what was selected, or what is missing of the run in a directory, runs it within the
    /// budget, and reports the result. Returns none if only the plan was asked for.
    ///
    /// # Errors
    /// Whatever the plan cannot be made of, and what ended the run.
    pub fn run(
        &self,
        selection: &Selection,
        resume: Option<&Path>,
        budget: Option<HumanDuration>,
    ) -> Result<Option<Conducted>, Failure> {
        let prepared = self.prepare(selection, resume)?;
        let mut request = self.request(prepared, resume)?;
        request.budget = budget.map(|budget| budget.0);
        self.conduct(&request)
    }

    /// Plans what was selected, or what is missing of the run in a directory.
    ///
    /// # Errors
    /// Whatever the plan cannot be made of.
    pub fn prepare(
        &self,
        selection: &Selection,
        resume: Option<&Path>,
    ) -> Result<Prepared, Failure> {
        let (catalogue, launcher) = (self.overlay.catalogue(), launcher()?);
        Ok(match resume {
            Some(dir) => prepare_resume(dir, &catalogue, &launcher)?,
            None => prepare(selection, &self.overlay.scenarios(), &catalogue, &launcher)?,
        })
    }

    /// How the plan is run: in the directory that is resumed, the one that was named, or a new one.
    ///
    /// # Errors
    /// The program does not know where it is itself.
    pub fn request(
        &self,
        prepared: Prepared,
        resume: Option<&Path>,
    ) -> Result<RunRequest, Failure> {
        let named = resume.or(self.dir.as_deref()).map(Path::to_path_buf);
        Ok(RunRequest {
            out: named.unwrap_or_else(|| out::default_dir(&prepared.plan.suite)),
            resume: resume.is_some(),
            launcher: launcher()?,
            command_line: std::env::args().collect(),
            backend: self.backend.map(Into::into),
            budget: None,
            libraries: library_versions()
                .into_iter()
                .map(|(name, version)| (name.to_owned(), version))
                .collect(),
            prepared,
        })
    }

    /// Runs the plan and reports what it came to; nothing where only the plan was asked for, which is printed.
    ///
    /// # Errors
    /// What ended the run, after what was measured has been reported.
    pub fn conduct(&self, request: &RunRequest) -> Result<Option<Conducted>, Failure> {
        if self.dry_run {
            dry_run::print(&request.prepared, self.json)?;
            return Ok(None);
        }
        conduct::to_its_end(request, self.json).map(Some)
    }
}
