//! Error pages.

use axum::http::StatusCode;
use axum::http::header::ALLOW;
use axum::response::{IntoResponse, Response};
use gatebench_model::Blame as _;
use gatebench_store::StoreError;
use serde::Serialize;

use crate::view::{self, Site};

/// The reason why the requested page cannot be returned.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The Host header does not name this server.
    Misdirected,
    /// The request has no valid token or cookie, its form has already been used, or it does not
    /// come from a page of this server.
    Forbidden(&'static str),
    Method {
        may_post: bool,
    },
    NotFound(String),
    /// The query or the form is not valid.
    Wrong(String),
    /// The request cannot be fulfilled at present.
    Conflict(String),
    /// The maximum number of pages already receives changes.
    Busy,
    /// A run cannot be read.
    Store(StoreError),
    /// Rendering the page failed because of a bug.
    Defect,
}

#[derive(Serialize)]
struct View<'a> {
    site: Site,
    what: &'a str,
    remedy: &'a str,
}

impl Problem {
    fn status(&self) -> StatusCode {
        match self {
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Wrong(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Store(StoreError::NotARun { .. }) => StatusCode::NOT_FOUND,
            Self::Store(_) | Self::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn words(&self) -> (String, String) {
        let words = |what: &str, remedy: &str| (what.to_owned(), remedy.to_owned());
        match self {
            Self::Misdirected => words(
                "The host name in the request is not that of this server.",
                "Open the URL that `gatebench serve` printed.",
            ),
            Self::Forbidden(why) => (sentence(why), String::new()),
            Self::Method { .. } => words(
                "This page is read-only.",
                "To start runs, use `gatebench serve --allow-run`.",
            ),
            Self::NotFound(what) | Self::Wrong(what) | Self::Conflict(what) => {
                (sentence(what), String::new())
            }
            Self::Busy => words("Too many pages are open.", "Close one and try again."),
            Self::Store(error) => (sentence(&error.to_string()), sentence(&error.remedy())),
            Self::Defect => words(
                "This page could not be rendered because of a bug in gatebench.",
                "Report it with the output of `gatebench serve`.",
            ),
        }
    }
}

fn sentence(words: &str) -> String {
    format!("{}.", gatebench_report::format::capitalized(words))
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let (what, remedy) = self.words();
        let view = View {
            site: Site::new(status.canonical_reason().unwrap_or("Problem"), ""),
            what: &what,
            remedy: &remedy,
        };
        let allowed = match self {
            Self::Method { may_post: true } => Some([(ALLOW, "GET, HEAD, POST")]),
            Self::Method { may_post: false } => Some([(ALLOW, "GET, HEAD")]),
            _ => None,
        };
        let page = view::page("problem.html", &view);
        (status, allowed, page).into_response()
    }
}
