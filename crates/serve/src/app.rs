//! The state that all request handlers share.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::response::{IntoResponse as _, Response};
use gatebench_model::Plan;
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
    rows: Mutex<Rows>,
    /// The findings of the most recently analyzed runs, in the order of their analysis, each with
    /// the name and the stamp of its run.
    findings: Mutex<Vec<(String, String, Arc<Findings>)>>,
}

/// The runs of the folder, as of the last scan.
#[derive(Default)]
struct Rows {
    /// The rows of runs that are not in progress, by name. The stamp of a row shows whether the run
    /// has changed.
    ended: HashMap<String, (String, Row)>,
    /// The names of the runs in progress.
    running: Vec<String>,
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

    /// Returns a row for each run, the newest first. While runs are in progress, reads only these
    /// runs, because reading the others could disturb the measurement: until one of them ends, the
    /// rows of the others do not change, and new runs are missing.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, Problem> {
        let mut known = locked(&self.rows);
        let running = known.running.iter().filter_map(|name| self.running(name));
        let mut running: Vec<(Row, Plan)> = running.collect();
        if running.is_empty() || running.len() < known.running.len() {
            running = self.scan(&mut known.ended)?;
            known.running = running.iter().map(|(row, _)| row.name.clone()).collect();
        }
        self.cores.avoid(running.last().map(|(_, plan)| plan));
        let ended = known.ended.values().map(|(_, row)| row.clone());
        let running = running.into_iter().map(|(row, _)| row);
        let mut rows: Vec<Row> = ended.chain(running).collect();
        rows.sort_by(|a, b| b.order().cmp(&a.order()));
        Ok(rows)
    }

    /// Returns the row and the plan of a run; `None` unless the run is in progress.
    fn running(&self, name: &str) -> Option<(Row, Plan)> {
        let dir = self.folder.dir(name)?;
        let overview = RunOverview::read(&dir);
        let row = Row::of(name, &dir, &overview);
        let overview = overview.ok().filter(|_| row.is_running)?;
        Some((row, overview.manifest.plan))
    }

    /// Updates the rows of runs that are not in progress, and returns the rows and the plans of
    /// those that are. Reads a run again only if it has changed.
    fn scan(
        &self,
        ended: &mut HashMap<String, (String, Row)>,
    ) -> Result<Vec<(Row, Plan)>, Problem> {
        let names = self.folder.names().map_err(|error| {
            let folder = self.folder.path().display();
            Problem::NotFound(format!("{folder} cannot be read: {error}"))
        })?;
        ended.retain(|name, _| names.contains(name));
        let mut running = Vec::new();
        for name in names {
            let Some(dir) = self.folder.dir(&name) else {
                continue;
            };
            let stamp = RunOverview::stamp(&dir).unwrap_or_default();
            if ended.get(&name).is_some_and(|(own, _)| *own == stamp) {
                continue;
            }
            let overview = RunOverview::read(&dir);
            let row = Row::of(&name, &dir, &overview);
            match overview {
                Ok(it) if it.state == RunState::Running => {
                    ended.remove(&name);
                    running.push((row, it.manifest.plan));
                }
                _ => drop(ended.insert(name, (stamp, row))),
            }
        }
        Ok(running)
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
