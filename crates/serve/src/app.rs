//! The state that all request handlers share.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::response::{IntoResponse as _, Response};
use gatebench_store::{Run, RunOverview, RunState, TrialFolder};
use gatebench_studies::{Findings, analyse_masked};
use tokio::sync::Semaphore;

use crate::bounds::STREAMS_MAX;
use crate::folder::Folder;
use crate::frames::Frames;
use crate::launch::Launcher;
use crate::live::LiveTrials;
use crate::place::Cores;
use crate::problem::Problem;
use crate::rows::Row;
use crate::shared::locked;
use crate::view::{Chip, Site};

/// The maximum number of runs whose findings are kept in memory.
const FINDINGS_MAX: usize = 8;

pub(crate) type Shared = Arc<App>;

pub(crate) struct App {
    pub(crate) folder: Folder,
    /// The name of a run that may not have begun yet, or empty.
    pub(crate) expected: String,
    pub(crate) launcher: Option<Launcher>,
    pub(crate) cores: Cores,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) frames: Frames,
    pub(crate) live: Mutex<LiveTrials>,
    /// The outcomes of trials, each with the stamp of the trial's record. The key consists of the
    /// name of the run and that of the trial's folder.
    pub(crate) outcomes: Mutex<HashMap<(String, String), (String, Chip)>>,
    /// The rows of runs that are not in progress, by name. The stamp of a row shows whether the run
    /// has changed.
    rows: Mutex<HashMap<String, (String, Row)>>,
    /// The findings of the most recently analyzed runs, in the order of their analysis, each with
    /// the name and the stamp of its run.
    findings: Mutex<Vec<(String, String, Arc<Findings>)>>,
}

impl App {
    pub(crate) fn new(
        folder: Folder,
        expected: Option<String>,
        launcher: Option<Launcher>,
    ) -> Self {
        Self {
            folder,
            expected: expected.unwrap_or_default(),
            launcher,
            cores: Cores::new(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            frames: Frames::default(),
            live: Mutex::default(),
            outcomes: Mutex::default(),
            rows: Mutex::default(),
            findings: Mutex::default(),
        }
    }

    pub(crate) fn site(&self, title: impl Into<String>, open: &'static str) -> Site {
        Site {
            allows_run: self.launcher.is_some(),
            ..Site::new(title, open)
        }
    }

    pub(crate) fn dir(&self, name: &str) -> Result<PathBuf, Problem> {
        let missing = || Problem::NotFound(format!("there is no run {name} in this folder"));
        self.folder.dir(name).ok_or_else(missing)
    }

    pub(crate) fn overview(&self, name: &str) -> Result<RunOverview, Problem> {
        Ok(RunOverview::read(&self.dir(name)?)?)
    }

    /// Returns a row for each run, the newest first. Reads a run again only if it has changed or is
    /// in progress.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, Problem> {
        let names = self.folder.names().map_err(|error| {
            let folder = self.folder.path().display();
            Problem::NotFound(format!("{folder} cannot be read: {error}"))
        })?;
        let mut known = locked(&self.rows);
        known.retain(|name, _| names.contains(name));
        let mut rows = Vec::new();
        let mut under_way = None;
        for name in names {
            let Some(dir) = self.folder.dir(&name) else {
                continue;
            };
            let stamp = RunOverview::stamp(&dir).unwrap_or_default();
            if let Some((_, row)) = known.get(&name).filter(|(own, _)| *own == stamp) {
                rows.push(row.clone());
                continue;
            }
            let overview = RunOverview::read(&dir);
            let row = Row::of(&name, &dir, &overview);
            match overview {
                Ok(it) if it.state == RunState::Running => under_way = Some(it.manifest.plan),
                _ => drop(known.insert(name, (stamp, row.clone()))),
            }
            rows.push(row);
        }
        self.cores.avoid(under_way.as_ref());
        rows.sort_by(|a, b| b.order().cmp(&a.order()));
        Ok(rows)
    }

    pub(crate) fn is_measuring(&self) -> Result<bool, Problem> {
        Ok(self.rows()?.iter().any(|row| row.is_running))
    }

    /// Returns the findings of a run, with the secrets of its scenarios masked.
    pub(crate) fn findings(&self, name: &str) -> Result<Arc<Findings>, Problem> {
        let dir = self.dir(name)?;
        let trials = fs::read_dir(dir.join("trials")).map_or(0, Iterator::count);
        let stamp = RunOverview::stamp(&dir).unwrap_or_default();
        let stamp = format!("{stamp} {trials}");
        let is_same = |it: &&(String, String, _)| it.0 == name && it.1 == stamp;
        if let Some((.., found)) = locked(&self.findings).iter().find(is_same) {
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(analyse_masked(&Run::open(&dir)?)?);
        let mut kept = locked(&self.findings);
        kept.retain(|it| it.0 != name);
        if kept.len() >= FINDINGS_MAX {
            kept.remove(0);
        }
        kept.push((name.to_owned(), stamp, Arc::clone(&found)));
        Ok(found)
    }
}

/// Renders a response on a thread that may block.
pub(crate) async fn drawn(
    app: Shared,
    draw: impl FnOnce(&App) -> Result<Response, Problem> + Send + 'static,
) -> Response {
    let drawing = tokio::task::spawn_blocking(move || {
        app.cores.move_thread();
        draw(&app)
    });
    match drawing.await {
        Ok(Ok(response)) => response,
        Ok(Err(problem)) => problem.into_response(),
        Err(_) => Problem::Defect.into_response(),
    }
}

/// Fails if the run has no trial with this name.
pub(crate) fn trial_folder(dir: &Path, name: &str) -> Result<TrialFolder, Problem> {
    let mut folders = TrialFolder::all(dir)?.into_iter();
    let missing = || Problem::NotFound(format!("this run has no trial {name}"));
    folders.find(|it| it.name == name).ok_or_else(missing)
}
