//! The list of runs.

use axum::response::Response;
use gatebench_report::format::counted;
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::query::first;
use crate::rows::Row;
use crate::view::{self, Site};

#[derive(Serialize)]
struct View {
    site: Site,
    folder: String,
    words: String,
    filter: String,
    is_measuring: bool,
    rows: Vec<Row>,
}

/// Returns the filter in the query: the text that the listed rows must contain.
pub(crate) fn filter_of(query: &[(String, String)]) -> String {
    first(query, "filter").trim().to_owned()
}

pub(crate) fn page(app: &App, query: &[(String, String)]) -> Result<Response, Problem> {
    let view = view_of(app, filter_of(query))?;
    Ok(view::page("list.html", &view))
}

pub(crate) fn changing(app: &App, filter: &str) -> Result<String, Problem> {
    Ok(view::fill("runs.html", &view_of(app, filter.to_owned())?))
}

fn view_of(app: &App, filter: String) -> Result<View, Problem> {
    let mut rows = app.rows()?;
    let is_measuring = rows.iter().any(|row| row.is_running);
    let all = rows.len();
    let small = filter.to_lowercase();
    rows.retain(|row| row.has(&small));
    let words = match rows.len() {
        shown if shown == all => counted(all as u64, "run"),
        shown => format!("{shown} of {}", counted(all as u64, "run")),
    };
    let query = match filter.as_str() {
        "" => String::new(),
        filter => format!("?filter={}", view::in_path(filter)),
    };
    let mut site = app.site("Runs", "runs");
    site.events = format!("/events{query}");
    // Reloading would clear the selection, so the page reloads only while there is nothing to
    // select or a run is in progress.
    site.reloads = rows.is_empty() || rows.iter().any(|row| row.is_running);
    Ok(View {
        site,
        folder: app.folder.path().display().to_string(),
        words,
        filter,
        is_measuring,
        rows,
    })
}
