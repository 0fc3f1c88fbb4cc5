//! The page of a run: its report, its trials, its files and, while it is in progress, its running
//! trials.

use std::path::Path;

use axum::response::Response;
use gatebench_model::{Blame as _, Study};
use gatebench_report::format::{duration, instant, quantity};
use gatebench_report::{Unit, html};
use gatebench_store::files::files_of_run;
use gatebench_store::{Manifest, RunOverview, RunState, Timestamp, TrialFolder};
use gatebench_studies::Findings;
use gatebench_studies::run::redact::Redaction;
use gatebench_studies::run::{resume_line, shell_line};
use serde::Serialize;

use super::trial::{FileLink, number_of, of_folder, outcome_of};
use crate::app::App;
use crate::charts::{PhaseChart, latest};
use crate::live::LiveTrial;
use crate::problem::Problem;
use crate::rows::{Row, gateways};
use crate::shared::locked;
use crate::view::{self, Chip, Link, Site, href_of_run, href_of_trial};

/// The maximum number of runs in the form that compares this run with another one.
const OTHERS_MAX: usize = 50;

#[derive(Default, Serialize)]
struct View {
    site: Site,
    name: String,
    state: Chip,
    facts: Vec<[String; 2]>,
    /// The next step for a run that did not finish, and the command for it; both are empty for
    /// other runs.
    hint: [String; 2],
    /// `None` if the run has ended.
    live: Option<Live>,
    /// `None` while the run is in progress, or if the report cannot be created.
    report: Option<html::Page>,
    /// The reason why the report cannot be created, and the remedy.
    broken: Option<[String; 2]>,
    trials: Vec<TrialRow>,
    files: Vec<FileLink>,
    /// The runs in the form that compares this run with another one; empty while this run is in
    /// progress.
    others: Vec<Link>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct TrialRow {
    href: String,
    number: u32,
    block: u32,
    scenario: String,
    variant: String,
    outcome: Chip,
    /// The validity of a completed trial, if the run was analyzed.
    validity: Option<&'static str>,
}

#[derive(Serialize)]
struct Live {
    done: usize,
    planned: usize,
    /// The remaining time as text.
    left: String,
    now: Vec<Current>,
}

#[derive(Serialize)]
pub(crate) struct Current {
    /// An id that is unique on the page.
    id: String,
    href: String,
    title: String,
    state: String,
    figures: Vec<[String; 2]>,
    charts: Vec<PhaseChart>,
}

#[derive(Serialize)]
struct Waiting {
    site: Site,
    name: String,
    output: String,
    has_ended: bool,
}

impl App {
    /// Reports whether a run with this name was started or is expected, and may still create its
    /// directory.
    pub(crate) fn may_begin(&self, name: &str) -> bool {
        let launcher = self.launcher.as_ref();
        let started = launcher.and_then(|it| it.output(name));
        match started {
            Some((_, has_ended)) => !has_ended,
            None => !name.is_empty() && self.expected == name,
        }
    }
}

/// Renders a run, or the page that waits for a run to begin.
pub(crate) fn page(app: &App, name: &str) -> Result<Response, Problem> {
    match app.overview(name) {
        Err(problem @ Problem::NotFound(_)) => waiting(app, name).ok_or(problem),
        Err(problem) => Err(problem),
        Ok(overview) => of_overview(app, name, &overview),
    }
}

/// The page of a run without a directory; `None` if no such run was started or is expected.
fn waiting(app: &App, name: &str) -> Option<Response> {
    app.folder.place(name)?;
    let output = app.launcher.as_ref().and_then(|it| it.output(name));
    if output.is_none() && !app.may_begin(name) {
        return None;
    }
    let (output, has_ended) = output.unwrap_or_default();
    let site = match has_ended {
        true => app.site(name, ""),
        false => following(app, name, name),
    };
    let view = Waiting {
        site,
        name: name.to_owned(),
        output,
        has_ended,
    };
    Some(view::page("waiting.html", &view))
}

fn of_overview(app: &App, name: &str, overview: &RunOverview) -> Result<Response, Problem> {
    let RunOverview { manifest, state } = overview;
    let dir = app.folder.path().join(name);
    let mut view = View {
        name: name.to_owned(),
        state: Chip::of_state(*state),
        facts: facts(manifest),
        hint: hint(*state, &manifest.plan.study, &dir),
        files: of_folder(&href_of_run(name), files_of_run(&dir)?),
        site: app.site(name, ""),
        ..View::default()
    };
    if *state == RunState::Running {
        view.site = following(app, name, name);
        view.trials = trials(app, name, manifest, None)?;
        view.live = Some(live(app, name, manifest)?);
    } else {
        locked(&app.live).retain(|(run, _), _| run != name);
        view.others = others(app, name)?;
        match app.findings(name) {
            Ok(findings) => {
                view.trials = trials(app, name, manifest, Some(&findings))?;
                view.report = Some(html::Page::of(&*findings));
            }
            Err(Problem::Store(error)) => {
                view.broken = Some([error.to_string(), error.remedy()]);
            }
            Err(problem) => return Err(problem),
        }
    }
    Ok(view::page("run.html", &view))
}

/// The common parts of a page that follows a run.
pub(crate) fn following(app: &App, title: &str, run: &str) -> Site {
    Site {
        events: format!("{}events", href_of_run(run)),
        reloads: true,
        ..app.site(title, "")
    }
}

fn facts(manifest: &Manifest) -> Vec<[String; 2]> {
    let command = Redaction::of_plan(&manifest.plan).text(&shell_line(&manifest.command));
    let facts = [
        ("Started", instant(&manifest.created)),
        ("Suite", manifest.plan.suite.clone()),
        ("Gateways", gateways(manifest)),
        ("Command", command),
    ];
    let facts = facts.map(|(name, value)| [name.to_owned(), value]);
    facts.into_iter().filter(|it| !it[1].is_empty()).collect()
}

fn hint(state: RunState, study: &Study, dir: &Path) -> [String; 2] {
    let words = match state {
        RunState::Running | RunState::Finished => return Default::default(),
        RunState::Interrupted => "This run was interrupted. To measure the missing trials:",
        RunState::Failed => "This run ended with an error. To measure the missing trials:",
        RunState::Killed => {
            "The process of this run was killed. The finished trials are kept. To measure the \
             missing trials:"
        }
    };
    [words.to_owned(), resume_line(study, dir)]
}

/// The other runs that are not in progress, the newest first, at most [`OTHERS_MAX`].
fn others(app: &App, name: &str) -> Result<Vec<Link>, Problem> {
    let rows = app.rows()?;
    let others = rows
        .into_iter()
        .filter(|row| row.name != name && !row.is_running);
    let link = |row: Row| Link {
        text: row.name.clone(),
        href: row.name,
    };
    Ok(others.take(OTHERS_MAX).map(link).collect())
}

/// The trials that have a folder, in the order of the run.
fn trials(
    app: &App,
    name: &str,
    manifest: &Manifest,
    findings: Option<&Findings>,
) -> Result<Vec<TrialRow>, Problem> {
    let dir = app.folder.path().join(name);
    let is_running = findings.is_none();
    let row = |folder: &TrialFolder| {
        let number = number_of(&folder.name)?;
        let mut planned = manifest.plan.trials.iter();
        let trial = planned.find(|it| it.number == number)?;
        let found = findings.and_then(|it| it.trials.iter().find(|it| it.number == number));
        Some(TrialRow {
            href: href_of_trial(name, &folder.name),
            number,
            block: trial.block,
            scenario: trial.scenario.clone(),
            variant: trial.variant.clone(),
            outcome: outcome_of(app, name, &dir, folder, is_running),
            validity: found
                .filter(|it| it.outcome == "completed")
                .map(|it| it.validity.word()),
        })
    };
    Ok(TrialFolder::all(&dir)?.iter().filter_map(row).collect())
}

/// Renders the part of the page that changes while the run is in progress.
pub(crate) fn changing(app: &App, name: &str, manifest: &Manifest) -> Result<String, Problem> {
    #[derive(Serialize)]
    struct Part {
        live: Live,
        trials: Vec<TrialRow>,
    }
    let part = Part {
        live: live(app, name, manifest)?,
        trials: trials(app, name, manifest, None)?,
    };
    Ok(view::fill("live.html", &part))
}

fn live(app: &App, name: &str, manifest: &Manifest) -> Result<Live, Problem> {
    app.cores.avoid(Some(&manifest.plan));
    let dir = app.folder.path().join(name);
    let folders = TrialFolder::all(&dir)?;
    let planned = manifest.plan.trials.len();
    let mut live = Live {
        done: folders.iter().filter(|it| it.is_complete).count(),
        planned,
        left: String::new(),
        now: Vec::new(),
    };
    let is_live = |name: &str| folders.iter().any(|it| it.is_live && it.name == name);
    locked(&app.live).retain(|(run, trial), _| run != name || is_live(trial));
    for folder in folders.iter().filter(|it| it.is_live) {
        live.now.push(current_of(app, name, folder, manifest)?);
        let key = (name.to_owned(), folder.name.clone());
        let began = locked(&app.live).get(&key).and_then(|it| it.began);
        live.left = began.map(left).unwrap_or_default();
    }
    Ok(live)
}

/// Reads what a running trial has recorded since the last call, and returns its state, its latest
/// figures and its charts.
pub(crate) fn current_of(
    app: &App,
    run: &str,
    folder: &TrialFolder,
    manifest: &Manifest,
) -> Result<Current, Problem> {
    let dir = app.folder.path().join(run);
    let mut known = locked(&app.live);
    let trial = known
        .entry((run.to_owned(), folder.name.clone()))
        .or_insert_with(|| LiveTrial::new(&dir, &folder.name));
    trial.follow()?;
    Ok(current(run, folder, trial, manifest))
}

fn current(run: &str, folder: &TrialFolder, trial: &LiveTrial, manifest: &Manifest) -> Current {
    let number = number_of(&folder.name).unwrap_or_default();
    let planned = manifest.plan.trials.iter().find(|it| it.number == number);
    let title = planned.map(|it| {
        let (scenario, variant) = (&it.scenario, &it.variant);
        let (block, of) = (
            manifest.plan.blocks_until(it.block),
            manifest.plan.blocks_kept(),
        );
        format!("Trial {number}: {scenario} with {variant}, block {block} of {of}")
    });
    let seconds = trial.phases.last().map_or(&[][..], |it| &it.seconds);
    let mut figures = latest(seconds);
    if let Some((rate, failed)) = trial.warm_up {
        figures = vec![
            [
                "Throughput in the warm-up".to_owned(),
                quantity(rate.round(), Unit::RequestsPerSecond),
            ],
            ["Failed so far".to_owned(), failed.to_string()],
        ];
    }
    let charts = trial.phases.iter().enumerate();
    let charts = charts.filter_map(|(index, phase)| {
        let unique = number as usize * 1_000 + index;
        PhaseChart::of(unique, &phase.name, &phase.seconds)
    });
    Current {
        id: format!("trial-{number}"),
        href: href_of_trial(run, &folder.name),
        title: title.unwrap_or_else(|| folder.name.clone()),
        state: trial.state(),
        figures,
        charts: charts.collect(),
    }
}

/// Describes the remaining time, given the start time and the expected duration in seconds.
fn left(began: (Timestamp, f64)) -> String {
    let (began, expected) = began;
    let since = Timestamp::now().duration_since(began).as_secs_f64();
    match expected - since {
        left if left >= 1.0 => format!("about {} left", duration(left)),
        _ => "almost done".to_owned(),
    }
}
