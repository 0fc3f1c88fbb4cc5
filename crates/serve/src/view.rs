//! The parts that all pages have.

use axum::response::{Html, IntoResponse as _, Response};
use gatebench_report::html;
use gatebench_store::RunState;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

macro_rules! templates {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../templates/", $name)))),*]
    };
}

const TEMPLATES: [(&str, &str); 15] = templates!(
    "frame.html",
    "site.html",
    "list.html",
    "runs.html",
    "run.html",
    "now.html",
    "live.html",
    "current.html",
    "trials.html",
    "waiting.html",
    "trial.html",
    "compare.html",
    "history.html",
    "start.html",
    "problem.html"
);

/// The style of the report, and what the pages have in addition.
pub(crate) const STYLE: [&str; 2] = [html::STYLE, include_str!("../templates/serve.css")];
pub(crate) const ICON: &str = include_str!("../templates/icon.svg");
pub(crate) const SCRIPT: &str = include_str!("../templates/serve.js");

/// The characters of a name that a path may have as they are.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The frame of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Site {
    pub(crate) title: String,
    /// The entry of the menu that is open, or empty.
    pub(crate) open: &'static str,
    /// The path of the changes of this page, or empty if it does not change.
    pub(crate) events: String,
    /// True if a page without a script is loaded again and again.
    pub(crate) reloads: bool,
    /// True if the menu has the page that starts runs.
    pub(crate) allows_run: bool,
}

impl Site {
    pub(crate) fn new(title: impl Into<String>, open: &'static str) -> Self {
        Self {
            title: title.into(),
            open,
            ..Self::default()
        }
    }
}

/// Words in the colour of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Chip {
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
}

impl Chip {
    pub(crate) fn of_state(state: RunState) -> Self {
        let (class, word) = match state {
            RunState::Running => ("running", "running"),
            RunState::Finished => ("", "finished"),
            RunState::Interrupted => ("open", "interrupted"),
            RunState::Failed => ("failed", "failed"),
            RunState::Killed => ("failed", "killed"),
        };
        Self { class, word }
    }
}

/// A target and the words that lead to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Link {
    pub(crate) href: String,
    pub(crate) text: String,
}

/// Fills in a template with a view that has a `site`.
pub(crate) fn fill(template: &str, view: &impl Serialize) -> String {
    html::fill(&TEMPLATES, template, view)
}

/// Responds with a template that is filled in.
pub(crate) fn page(template: &str, view: &impl Serialize) -> Response {
    Html(fill(template, view)).into_response()
}

/// A part of a path.
pub(crate) fn in_path(name: &str) -> String {
    utf8_percent_encode(name, IN_PATH).to_string()
}

/// A path of several parts, between `/`.
pub(crate) fn path_of(path: &str) -> String {
    let parts = path.split('/').map(in_path);
    Vec::from_iter(parts).join("/")
}

/// The path of a run's page.
pub(crate) fn href_of_run(name: &str) -> String {
    format!("/run/{}/", in_path(name))
}

/// The path of a trial's page.
pub(crate) fn href_of_trial(run: &str, trial: &str) -> String {
    format!("/run/{}/trial/{}/", in_path(run), in_path(trial))
}
