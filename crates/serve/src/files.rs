//! Serves the files of run directories, reports and flame graphs.

use std::fs::File;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use gatebench_report::html;
use gatebench_store::files::{files_of_run, files_of_trial, open_file, open_trial_file};
use gatebench_store::safe_file_part;
use tokio_util::io::ReaderStream;

use crate::app::{App, trial_folder};
use crate::problem::Problem;
use crate::query::Place;

/// The content security policy for untrusted content, which must neither run nor load anything.
const SEALED: &str = "default-src 'none'; sandbox";
/// The policy for a report, whose style sheet is inline.
const SEALED_REPORT: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
/// The policy for a flame graph, whose style sheet and script are inline. The sandbox denies the
/// script access to this site.
const SEALED_GRAPH: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                            script-src 'unsafe-inline'; sandbox allow-scripts";

pub(crate) fn report(app: &App, run: &str) -> Result<Response, Problem> {
    let page = html::render(&*app.findings(run)?);
    let name = format!("{}.html", safe_file_part(run));
    let as_file = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let mut response = with(page, "text/html; charset=utf-8", SEALED_REPORT);
    let as_file = as_file.map_err(|_| Problem::Defect)?;
    response.headers_mut().insert(CONTENT_DISPOSITION, as_file);
    Ok(response)
}

pub(crate) fn graph(app: &App, run: &str, file: &str) -> Result<Response, Problem> {
    let findings = app.findings(run)?;
    let mut graphs = findings.sections.iter().flat_map(|it| &it.graphs);
    let missing = || Problem::NotFound(format!("run {run} has no flame graph {file}"));
    let graph = graphs.find(|it| it.file == file).ok_or_else(missing)?;
    let drawn = graph.svg().map_err(|_| missing())?;
    Ok(with(drawn, "image/svg+xml", SEALED_GRAPH))
}

/// A file that the page of a run or of a trial links to. It is always sent as plain text.
pub(crate) fn raw(app: &App, place: &Place) -> Result<Response, Problem> {
    let Place { run, trial, path } = place;
    let missing = || Problem::NotFound(format!("run {run} has no file {path}"));
    let dir = app.folder.dir(run).ok_or_else(missing)?;
    let listed = match trial {
        None => files_of_run(&dir)?,
        Some(trial) => {
            trial_folder(&dir, trial)?;
            files_of_trial(&dir, trial)?
        }
    };
    if !listed.iter().any(|file| file.path == *path) {
        return Err(missing());
    }
    let file = match trial {
        None => open_file(&dir, path)?,
        Some(trial) => open_trial_file(&dir, trial, path)?,
    };
    Ok(sent(file.ok_or_else(missing)?))
}

/// Streams a file, which may still be growing, at the speed of the client.
fn sent(file: File) -> Response {
    let pieces = ReaderStream::new(tokio::fs::File::from_std(file));
    let body = Body::from_stream(pieces);
    with(body, "text/plain; charset=utf-8", SEALED)
}

fn with(body: impl Into<Body>, type_of: &'static str, policy: &'static str) -> Response {
    let headers = [(CONTENT_TYPE, type_of), (CONTENT_SECURITY_POLICY, policy)];
    (headers, body.into()).into_response()
}
