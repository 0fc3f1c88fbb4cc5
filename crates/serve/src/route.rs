//! Maps URL paths to pages.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;

use crate::app::{Shared, drawn};
use crate::bounds::FORM_BYTES_MAX;
use crate::events;
use crate::frames::Watched;
use crate::guard::{Guard, START, guard};
use crate::pages::{compare, history, list, run, start, trial};
use crate::problem::Problem;
use crate::query::{Pairs, Place};
use crate::{files, view};

/// The header in which a browser that reconnects sends the id of the last event that it received.
const LAST_EVENT_ID: &str = "last-event-id";

/// All paths, protected by the guard.
pub(crate) fn router(app: Shared, own: Arc<Guard>) -> Router {
    let mut router = Router::new()
        .route("/", get(of_list))
        .route("/events", get(events_of_list))
        .route("/style.css", get(style))
        .route("/serve.js", get(script))
        .route("/icon.svg", get(icon))
        .route("/compare", get(of_compare))
        .route("/history", get(of_history))
        .route("/run/{run}", get(of_run_without_slash))
        .route("/run/{run}/", get(of_run))
        .route("/run/{run}/events", get(events_of_run))
        .route("/run/{run}/report.html", get(report))
        .route("/run/{run}/{path}", get(graph))
        .route("/run/{run}/file/{*path}", get(file))
        .route("/run/{run}/trial/{trial}/", get(of_trial))
        .route("/run/{run}/trial/{trial}/file/{*path}", get(file));
    if app.launcher.is_some() {
        router = router.route(START, get(of_start).post(start_run));
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

async fn style() -> Response {
    let type_of = [(CONTENT_TYPE, "text/css; charset=utf-8")];
    (type_of, view::STYLE.concat()).into_response()
}

async fn script() -> Response {
    let type_of = [(CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (type_of, view::SCRIPT).into_response()
}

async fn icon() -> Response {
    ([(CONTENT_TYPE, "image/svg+xml")], view::ICON).into_response()
}

async fn of_list(State(app): State<Shared>, Query(query): Query<Pairs>) -> Response {
    drawn(app, move |app| list::page(app, &query)).await
}

async fn of_compare(State(app): State<Shared>, Query(query): Query<Pairs>) -> Response {
    drawn(app, move |app| compare::page(app, &query)).await
}

async fn of_history(State(app): State<Shared>, Query(query): Query<Pairs>) -> Response {
    drawn(app, move |app| history::page(app, &query)).await
}

async fn of_run_without_slash(Path(place): Path<Place>) -> Redirect {
    Redirect::to(&view::href_of_run(&place.run))
}

async fn of_run(State(app): State<Shared>, Path(place): Path<Place>) -> Response {
    drawn(app, move |app| run::page(app, &place.run)).await
}

async fn report(State(app): State<Shared>, Path(place): Path<Place>) -> Response {
    drawn(app, move |app| files::report(app, &place.run)).await
}

async fn graph(State(app): State<Shared>, Path(place): Path<Place>) -> Response {
    drawn(app, move |app| files::graph(app, &place.run, &place.path)).await
}

async fn of_trial(State(app): State<Shared>, Path(place): Path<Place>) -> Response {
    drawn(app, move |app| trial::page(app, &place)).await
}

async fn file(State(app): State<Shared>, Path(place): Path<Place>) -> Response {
    drawn(app, move |app| files::raw(app, &place)).await
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

async fn of_start(State(app): State<Shared>, Query(query): Query<Pairs>) -> Response {
    drawn(app, move |app| start::page(app, &query)).await
}

async fn start_run(State(app): State<Shared>, Form(form): Form<Pairs>) -> Response {
    drawn(app, move |app| start::run(app, &form)).await
}
