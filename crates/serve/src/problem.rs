//! The pages for requests that cannot be fulfilled.

use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use gatebench_model::Blame as _;
use gatebench_store::StoreError;
use serde::Serialize;

use crate::view::{self, Site};

/// A reason for a response other than the page that was requested.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The Host header does not name this server.
    Misdirected,
    /// The request lacks the token or the cookie, or comes from elsewhere.
    Forbidden(&'static str),
    /// The method is not served here.
    Method { may_post: bool },
    /// There is no such page, run or file.
    NotFound(String),
    /// The request does not fit the page.
    Wrong(String),
    /// It is not possible at present.
    Conflict(String),
    /// The server is at one of its limits.
    Busy,
    /// A run cannot be read.
    Store(StoreError),
    /// The drawing of the page failed.
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

    /// The problem and its remedy.
    fn words(&self) -> (String, String) {
        let words = |what: &str, remedy: &str| (what.to_owned(), remedy.to_owned());
        match self {
            Self::Misdirected => words(
                "This server has another name.",
                "Open the URL that `gatebench serve` printed.",
            ),
            Self::Forbidden(why) => (sentence(why), String::new()),
            Self::Method { .. } => words(
                "This page can only be read.",
                "`gatebench serve --allow-run` also starts runs.",
            ),
            Self::NotFound(what) => (sentence(what), String::new()),
            Self::Wrong(what) | Self::Conflict(what) => (sentence(what), String::new()),
            Self::Busy => words("Too many pages are open.", "Close one and try again."),
            Self::Store(error) => (sentence(&error.to_string()), sentence(&error.remedy())),
            Self::Defect => words(
                "This page could not be drawn, which is a defect of gatebench.",
                "Report it with the output of `gatebench serve`.",
            ),
        }
    }
}

fn sentence(words: &str) -> String {
    format!("{}.", gatebench_report::format::capitalised(words))
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
        let page = view::fill(
            "problem.html",
            &View {
                site: Site::new(status.canonical_reason().unwrap_or("Problem"), ""),
                what: &what,
                remedy: &remedy,
            },
        );
        let mut response = (status, page).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        );
        if let Self::Method { may_post } = self {
            let allowed = if may_post {
                "GET, HEAD, POST"
            } else {
                "GET, HEAD"
            };
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        response
    }
}
