//! Maps URL paths to pages.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{Redirect, Response};
use axum::routing::{MethodRouter, get};

use crate::app::{App, Shared, drawn};
use crate::bounds::FORM_BYTES_MAX;
use crate::events;
use crate::frames::Watched;
use crate::guard::{Guard, START, guard};
use crate::pages::{compare, history, list, run, start, trial};
use crate::problem::Problem;
use crate::query::{Pairs, Place};
use crate::{files, view};

/// The header that contains the id of the last event that a reconnecting browser received.
const LAST_EVENT_ID: &str = "last-event-id";

pub(crate) fn router(app: Shared, own: Arc<Guard>) -> Router {
    let run = |app: &App, place: &Place| run::page(app, &place.run);
    let report = |app: &App, place: &Place| files::report(app, &place.run);
    let graph = |app: &App, place: &Place| files::graph(app, &place.run, &place.path);
    let mut router = Router::new()
        .route("/", of_query(list::page))
        .route("/events", get(events_of_list))
        .route("/style.css", fixed("text/css; charset=utf-8", &view::STYLE))
        .route(
            "/serve.js",
            fixed("text/javascript; charset=utf-8", view::SCRIPT),
        )
        .route("/icon.svg", fixed("image/svg+xml", view::ICON))
        .route("/compare", of_query(compare::page))
        .route("/history", of_query(history::page))
        .route("/run/{run}", get(of_run_without_slash))
        .route("/run/{run}/", of_place(run))
        .route("/run/{run}/events", get(events_of_run))
        .route("/run/{run}/report.html", of_place(report))
        .route("/run/{run}/{path}", of_place(graph))
        .route("/run/{run}/file/{*path}", of_place(files::raw))
        .route("/run/{run}/trial/{trial}/", of_place(trial::page))
        .route(
            "/run/{run}/trial/{trial}/file/{*path}",
            of_place(files::raw),
        );
    if app.launcher.is_some() {
        router = router.route(START, of_query(start::page).post(start_run));
    }
    router
        .fallback(missing)
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(own, guard))
        .with_state(app)
}

async fn missing(uri: Uri) -> Problem {
    Problem::NotFound(format!("there is no page {}", uri.path()))
}

/// A file that is part of the program.
fn fixed(type_of: &'static str, text: &'static str) -> MethodRouter<Shared> {
    get(move || async move { ([(CONTENT_TYPE, type_of)], text) })
}

type Drawn = Result<Response, Problem>;

fn of_query(page: fn(&App, &[(String, String)]) -> Drawn) -> MethodRouter<Shared> {
    get(
        move |State(app): State<Shared>, Query(query): Query<Pairs>| {
            drawn(app, move |app| page(app, &query))
        },
    )
}

fn of_place(page: fn(&App, &Place) -> Drawn) -> MethodRouter<Shared> {
    get(move |State(app): State<Shared>, Path(place): Path<Place>| {
        drawn(app, move |app| page(app, &place))
    })
}

async fn of_run_without_slash(Path(place): Path<Place>) -> Redirect {
    Redirect::to(&view::href_of_run(&place.run))
}

async fn events_of_list(
    State(app): State<Shared>,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    let filter = list::filter_of(&query);
    events::stream(app, Watched::List { filter }, last_id(&headers))
}

async fn events_of_run(
    State(app): State<Shared>,
    Path(place): Path<Place>,
    headers: HeaderMap,
) -> Response {
    events::stream(app, Watched::Run(place.run), last_id(&headers))
}

fn last_id(headers: &HeaderMap) -> String {
    let id = headers.get(LAST_EVENT_ID).and_then(|it| it.to_str().ok());
    id.unwrap_or_default().to_owned()
}

async fn start_run(State(app): State<Shared>, Form(form): Form<Pairs>) -> Response {
    drawn(app, move |app| start::run(app, &form)).await
}
