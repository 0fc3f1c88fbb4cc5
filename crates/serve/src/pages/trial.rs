//! The page of a trial: its outcome, its figures second by second, and its raw files.

use std::path::Path;

use axum::response::Response;
use gatebench_report::Unit;
use gatebench_report::format::{capitalized, duration, instant, quantity};
use gatebench_store::files::{StoredFile, files_of_trial};
use gatebench_store::{
    LiveSecond, Outcome, RunState, SeriesRow, StoredTrial, TrialFolder, TrialRecord,
};
use gatebench_studies::common::facts::{Reason, TrialFindings};
use gatebench_studies::run::redact::Redaction;
use serde::Serialize;

use super::run::{Current, current_of, following};
use crate::app::{App, trial_folder};
use crate::charts::PhaseChart;
use crate::live::{LivePhase, LiveTrial};
use crate::problem::Problem;
use crate::query::Place;
use crate::shared::locked;
use crate::view::{self, Chip, Link, Site, href_of_run, href_of_trial, path_of};

#[derive(Default, Serialize)]
struct View {
    site: Site,
    run: Link,
    name: String,
    outcome: Chip,
    facts: Vec<[String; 2]>,
    /// The reason why the trial failed or is not supported, and the remedy, which may be empty.
    failure: Option<[String; 2]>,
    /// The reasons why the figures are limited or invalid, each with its remedy.
    limits: Vec<Limit>,
    warnings: Vec<String>,
    /// `None` if the trial has ended.
    now: Option<Current>,
    charts: Vec<PhaseChart>,
    files: Vec<FileLink>,
}

#[derive(Serialize)]
struct Limit {
    word: &'static str,
    phase: String,
    reason: String,
    remedy: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct FileLink {
    href: String,
    path: String,
    size: String,
}

/// Links to the files of a folder; `page` is the path of its page.
pub(crate) fn of_folder(page: &str, files: Vec<StoredFile>) -> Vec<FileLink> {
    let link = |file: StoredFile| FileLink {
        href: format!("{page}file/{}", path_of(&file.path)),
        size: quantity(file.bytes as f64, Unit::Bytes),
        path: file.path,
    };
    files.into_iter().map(link).collect()
}

/// The outcome of a trial. A record is read again only if it has changed.
pub(crate) fn outcome_of(
    app: &App,
    run: &str,
    dir: &Path,
    folder: &TrialFolder,
    is_running: bool,
) -> Chip {
    if folder.is_live && is_running {
        return Chip::new("running", "running");
    }
    let Some(stamp) = folder.stamp(dir) else {
        return Chip::new("failed", "abandoned");
    };
    let key = (run.to_owned(), folder.name.clone());
    if let Some((_, known)) = locked(&app.outcomes).get(&key).filter(|it| it.0 == stamp) {
        return known.clone();
    }
    let read = StoredTrial::read(dir, &folder.name).ok().flatten();
    let outcome = match read.map(|it| it.record.outcome) {
        Some(Outcome::Completed) => Chip::new("", "completed"),
        Some(Outcome::NotSupported { .. }) => Chip::new("", "not supported"),
        Some(Outcome::Failed { .. }) => Chip::new("failed", "failed"),
        Some(Outcome::Interrupted) => Chip::new("open", "interrupted"),
        None => return Chip::new("failed", "unreadable"),
    };
    locked(&app.outcomes).insert(key, (stamp, outcome.clone()));
    outcome
}

pub(crate) fn page(app: &App, place: &Place) -> Result<Response, Problem> {
    let run = &place.run;
    let trial = place.trial.as_deref().unwrap_or_default();
    let overview = app.overview(run)?;
    let dir = app.folder.path().join(run);
    let folder = trial_folder(&dir, trial)?;
    let is_running = overview.state == RunState::Running;
    let is_live = is_running && folder.is_live;
    let title = format!("{trial} of {run}");
    let site = match is_live {
        true => following(app, &title, run),
        false => app.site(title, ""),
    };
    let mut view = View {
        site,
        run: Link {
            href: href_of_run(run),
            text: run.clone(),
        },
        name: folder.name.clone(),
        outcome: outcome_of(app, run, &dir, &folder, is_running),
        files: of_folder(&href_of_trial(run, trial), files_of_trial(&dir, trial)?),
        ..View::default()
    };
    match StoredTrial::read(&dir, trial)? {
        _ if is_live => {
            view.now = Some(current_of(app, run, &folder, &overview.manifest)?);
        }
        Some(stored) => {
            let redaction = Redaction::of_plan(&overview.manifest.plan);
            view.add_record(&stored.record, &redaction);
            view.charts = charts(&by_phase(stored.series()?));
        }
        None => view.charts = charts(&abandoned(&dir, trial)?),
    }
    if !is_running && let Ok(findings) = app.findings(run) {
        let number = number_of(trial);
        let mut trials = findings.trials.iter();
        let found = trials.find(|it| Some(it.number) == number);
        view.limits = found.map(limits).unwrap_or_default();
    }
    Ok(view::page("trial.html", &view))
}

/// Returns the number of a trial, which the name of its folder begins with.
pub(crate) fn number_of(folder: &str) -> Option<u32> {
    folder.split('-').next()?.parse().ok()
}

impl View {
    fn add_record(&mut self, record: &TrialRecord, redaction: &Redaction) {
        let took = record.finished.duration_since(record.started);
        let trial = &record.trial;
        let facts = [
            ("Scenario", trial.scenario.clone()),
            ("Gateway", trial.variant.clone()),
            ("Block", trial.block.to_string()),
            ("Started", instant(&record.started)),
            ("Took", duration(took.as_secs_f64())),
        ];
        self.facts = facts.map(|(name, value)| [name.to_owned(), value]).into();
        self.warnings = record
            .warnings
            .iter()
            .map(|it| redaction.text(it))
            .collect();
        self.failure = match &record.outcome {
            Outcome::Failed {
                culprit,
                reason,
                remedy,
                ..
            } => Some([
                redaction.text(&format!("{culprit}: {reason}")),
                redaction.text(&capitalized(remedy)),
            ]),
            Outcome::NotSupported { policies } => Some([
                format!("Not supported: {}.", policies.join(", ")),
                String::new(),
            ]),
            _ => None,
        };
    }
}

fn limits(trial: &TrialFindings) -> Vec<Limit> {
    let limit = |it: &Reason| Limit {
        word: it.validity.word(),
        phase: it.phase.clone().unwrap_or_default(),
        reason: it.message.clone(),
        remedy: it.remedy.clone(),
    };
    trial.reasons.iter().map(limit).collect()
}

fn charts(phases: &[LivePhase]) -> Vec<PhaseChart> {
    let phases = phases.iter().enumerate();
    let chart =
        |(index, phase): (usize, &LivePhase)| PhaseChart::of(index, &phase.name, &phase.seconds);
    phases.filter_map(chart).collect()
}

fn by_phase(rows: Vec<SeriesRow>) -> Vec<LivePhase> {
    let mut phases: Vec<LivePhase> = Vec::new();
    for row in rows {
        let second = LiveSecond {
            phase: row.phase,
            second: row.second,
            completed: row.completed,
            failed: row.failed,
            response_p50_ns: row.response_p50_ns,
            response_p99_ns: row.response_p99_ns,
        };
        LivePhase::add(&mut phases, second);
    }
    phases
}

/// The loads of a trial that ended without a record.
fn abandoned(dir: &Path, trial: &str) -> Result<Vec<LivePhase>, Problem> {
    let mut live = LiveTrial::new(dir, trial);
    live.follow()?;
    Ok(live.phases)
}
