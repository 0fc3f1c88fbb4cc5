//! All runs over time, as in `gatebench history`.

use axum::response::Response;
use gatebench_report::format::{distinct, instant};
use gatebench_report::html;
use gatebench_store::history::{HistoryIndex, RunEntry};
use gatebench_studies::across_runs::{history, updated};
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::query::first;
use crate::view::{self, Site, href_of_run};

/// The chapter of the report that this page replaces with a table of links.
const RUNS: &str = "runs";

#[derive(Serialize)]
struct View {
    site: Site,
    scenarios: Vec<String>,
    gateways: Vec<String>,
    /// The selected scenario, or empty for all scenarios.
    scenario: String,
    /// The selected gateway, or empty for all gateways.
    gateway: String,
    /// True if a run is in progress and new runs were therefore not read.
    is_measuring: bool,
    runs: Vec<RunLine>,
    report: Option<html::Page>,
}

#[derive(Serialize)]
struct RunLine {
    name: String,
    href: String,
    began: String,
    suite: String,
    blocks: u32,
    left_out: String,
}

pub(crate) fn page(app: &App, query: &[(String, String)]) -> Result<Response, Problem> {
    let rows = app.rows()?;
    let is_measuring = rows.iter().any(|row| row.is_running);
    let mut entries = entries(app, is_measuring)?;
    let cells = || entries.iter().flat_map(|it| &it.cells);
    let mut view = View {
        site: app.site("History", "history"),
        scenarios: sorted(cells().map(|it| it.scenario.clone())),
        gateways: sorted(cells().map(|it| it.gateway.clone())),
        scenario: first(query, "scenario"),
        gateway: first(query, "gateway"),
        is_measuring,
        runs: entries.iter().rev().map(line).collect(),
        report: None,
    };
    let is_wanted = |wanted: &String, name: &String| wanted.is_empty() || wanted == name;
    for entry in &mut entries {
        entry.cells.retain(|it| {
            is_wanted(&view.scenario, &it.scenario) && is_wanted(&view.gateway, &it.gateway)
        });
    }
    if !entries.is_empty() {
        let mut report = html::Page::of(&history(&entries));
        report.document.chapters.retain(|it| it.id != RUNS);
        view.report = Some(report);
    }
    Ok(view::page("history.html", &view))
}

/// Returns the listed runs. While a run is in progress, new runs are not read, because reading them
/// could disturb the measurement.
fn entries(app: &App, is_measuring: bool) -> Result<Vec<RunEntry>, Problem> {
    let folder = app.folder.path();
    let mut index = HistoryIndex::open(folder)?;
    let mut entries = match is_measuring {
        true => index.entries()?,
        false => updated(&mut index, folder, |_, _, _| {})?,
    };
    // Looking up a directory does not read the run.
    entries.retain(|it| app.folder.dir(&it.dir).is_some());
    Ok(entries)
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names = distinct(names);
    names.sort();
    names
}

fn line(entry: &RunEntry) -> RunLine {
    RunLine {
        name: entry.dir.clone(),
        href: href_of_run(&entry.dir),
        began: instant(&entry.created),
        suite: entry.suite.clone(),
        blocks: entry.blocks,
        left_out: entry.left_out.clone().unwrap_or_default(),
    }
}
