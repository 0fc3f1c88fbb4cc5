//! The common parts of all pages.

use std::sync::LazyLock;

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

/// The style sheet of reports, followed by the rules for these pages.
pub(crate) static STYLE: LazyLock<String> =
    LazyLock::new(|| html::STYLE.to_owned() + include_str!("../templates/serve.css"));
pub(crate) const ICON: &str = include_str!("../templates/icon.svg");
pub(crate) const SCRIPT: &str = include_str!("../templates/serve.js");

/// The characters that are percent-encoded in a segment of a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The data for the parts that all pages have, such as the menu.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Site {
    pub(crate) title: String,
    /// The selected entry of the menu, or empty.
    pub(crate) open: &'static str,
    /// The path of the event stream, or empty if the page does not change.
    pub(crate) events: String,
    /// True if a browser without scripts reloads the page periodically.
    pub(crate) reloads: bool,
    /// True if the menu contains the page that starts runs.
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

/// A word in the color of a CSS class.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Chip {
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
}

impl Chip {
    pub(crate) fn new(class: &'static str, word: &'static str) -> Self {
        Self { class, word }
    }

    pub(crate) fn of_state(state: RunState) -> Self {
        match state {
            RunState::Running => Self::new("running", "running"),
            RunState::Finished => Self::new("", "finished"),
            RunState::Interrupted => Self::new("open", "interrupted"),
            RunState::Failed => Self::new("failed", "failed"),
            RunState::Killed => Self::new("failed", "killed"),
        }
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Link {
    pub(crate) href: String,
    pub(crate) text: String,
}

pub(crate) fn fill(template: &str, view: &impl Serialize) -> String {
    html::fill(&TEMPLATES, template, view)
}

pub(crate) fn page(template: &str, view: &impl Serialize) -> Response {
    Html(fill(template, view)).into_response()
}

pub(crate) fn in_path(name: &str) -> String {
    utf8_percent_encode(name, IN_PATH).to_string()
}

/// Encodes a path, except its slashes.
pub(crate) fn path_of(path: &str) -> String {
    let parts = path.split('/').map(in_path);
    Vec::from_iter(parts).join("/")
}

pub(crate) fn href_of_run(name: &str) -> String {
    format!("/run/{}/", in_path(name))
}

pub(crate) fn href_of_trial(run: &str, trial: &str) -> String {
    format!("/run/{}/trial/{}/", in_path(run), in_path(trial))
}
