//! The options and steps of the commands that conduct a run.

use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_gateway::library_versions;
use gatebench_model::HumanDuration;
use gatebench_net::Backend;
use gatebench_runner::outputs::Settings;
use gatebench_runner::{ClusterPlan, Prepared, RunRequest, Selection, prepare, prepare_resume};

use super::companion::ServeArgs;
pub use super::conduct::Conducted;
use super::conduct::{self, Output};
use super::{dry_run, values};
use crate::commands::outputs::OutputArgs;
use crate::commands::values::{BACKENDS, Overlay, launcher, one_of};
use crate::exit::Exit;
use crate::failure::Failure;

/// The options of the commands that conduct a run.
#[derive(Debug, Args)]
pub struct Measuring {
    /// Use this event loop for the built-in load generator [default: io_uring if the kernel allows
    /// it, otherwise epoll]
    #[arg(long, value_parser = one_of(&BACKENDS))]
    backend: Option<Backend>,
    /// Write the run to this directory [default: ./gatebench-runs/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print the plan and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Print the findings (with --dry-run, the plan) as JSON
    #[arg(long)]
    pub json: bool,
    /// Print all figures and notes, not only the first screen
    #[arg(long, conflicts_with = "json")]
    pub verbose: bool,
    #[command(flatten)]
    pub overlay: Overlay,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    outputs: OutputArgs,
}

impl Measuring {
    /// Plans the selection, or the missing trials of the run to resume. Runs the plan within the
    /// budget, reports the result and returns the exit code. With `--dry-run`, only prints the
    /// plan.
    ///
    /// # Errors
    /// Fails if the plan cannot be made, or if an error ends the run.
    pub fn run(
        &self,
        selection: &Selection,
        resume: Option<&Path>,
        budget: Option<HumanDuration>,
    ) -> Result<Exit, Failure> {
        let conducted = self.conducted(selection, resume, budget)?;
        conducted.map_or(Ok(Exit::Fine), |it| it.decided(self.json))
    }

    /// Like [`Measuring::run`], but returns the finished run, or `None` with `--dry-run`.
    pub fn conducted(
        &self,
        selection: &Selection,
        resume: Option<&Path>,
        budget: Option<HumanDuration>,
    ) -> Result<Option<Conducted>, Failure> {
        self.check_outputs()?;
        let prepared = self.prepare(selection, resume)?;
        let mut request = self.request(prepared, resume)?;
        request.budget = budget.map(|budget| budget.0);
        self.conduct(&request)
    }

    /// Rejects invalid outputs before anything is built or planned.
    pub fn check_outputs(&self) -> Result<(), Failure> {
        self.outputs.settings().map(drop)
    }

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

    /// Returns what the selection, or the missing trials of the run to resume, requires in the
    /// cluster; `None` if the run does not take place in a cluster.
    ///
    /// # Errors
    /// Fails if a name is unknown, if a gateway has no image, or if the run to resume cannot be
    /// read.
    pub fn cluster_plan(
        &self,
        selection: &Selection,
        resume: Option<&Path>,
    ) -> Result<Option<ClusterPlan>, Failure> {
        let catalogue = self.overlay.catalogue();
        Ok(match resume {
            Some(dir) => ClusterPlan::of_run(dir, &catalogue)?,
            None => ClusterPlan::of(selection, &self.overlay.scenarios(), &catalogue)?,
        })
    }

    /// Returns the request to run the plan in the resumed directory, in the given directory, or in
    /// a new one.
    ///
    /// # Errors
    /// Fails if an output is not valid, or if `--out DIR` is given for a resumed run.
    pub fn request(
        &self,
        prepared: Prepared,
        resume: Option<&Path>,
    ) -> Result<RunRequest, Failure> {
        // `--out DIR` is the earlier form of `--dir DIR`.
        if resume.is_some()
            && let Some(dir) = self.outputs.dir()?
        {
            return Err(Failure::words(
                format!("--out {}", dir.display()),
                "a resumed run already has a directory",
                "omit --out",
            ));
        }
        let dir = self.dir()?;
        let named = resume.or(dir.as_deref()).map(Path::to_path_buf);
        Ok(RunRequest {
            outputs: Settings {
                appends: resume.is_some(),
                ..self.outputs.settings()?
            },
            out: named.unwrap_or_else(|| values::default_dir(&prepared.plan.suite)),
            resume: resume.is_some(),
            command_line: std::env::args().collect(),
            backend: self.backend,
            budget: None,
            libraries: library_versions()
                .into_iter()
                .map(|(name, version)| (name.to_owned(), version))
                .chain([("gatebench".to_owned(), crate::VERSION.to_owned())])
                .collect(),
            prepared,
        })
    }

    /// Returns the run directory given on the command line.
    ///
    /// # Errors
    /// Fails if the argument of `--out` names a kind of output, but has no target.
    pub fn dir(&self) -> Result<Option<PathBuf>, Failure> {
        match &self.dir {
            Some(dir) => Ok(Some(dir.clone())),
            None => self.outputs.dir(),
        }
    }

    /// Runs the plan and reports the results. With `--dry-run`, prints the plan and returns `None`.
    ///
    /// # Errors
    /// Returns the error that ended the run, after reporting the results so far.
    pub fn conduct(&self, request: &RunRequest) -> Result<Option<Conducted>, Failure> {
        if self.dry_run {
            dry_run::print(&request.prepared, &request.outputs.targets, self.json)?;
            return Ok(None);
        }
        let output = match (self.json, self.verbose) {
            (true, _) => Output::Json,
            (false, true) => Output::Full,
            (false, false) => Output::Brief,
        };
        conduct::to_its_end(request, output, self.serve).map(Some)
    }
}
