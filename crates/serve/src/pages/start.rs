//! The form that starts a run, which also shows the command. It exists only if the server was
//! started with `--allow-run`.

use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Serialize;

use crate::app::App;
use crate::launch::{Choice, Launcher, Wanted};
use crate::problem::Problem;
use crate::query::first;
use crate::view::{self, Site, href_of_run};

#[derive(Serialize)]
struct View {
    site: Site,
    suites: Vec<Choice>,
    gateways: Vec<Choice>,
    lengths: Vec<Choice>,
    suite: String,
    chosen: Vec<String>,
    length: &'static str,
    command: String,
    token: String,
}

fn launcher(app: &App) -> Result<&Launcher, Problem> {
    let missing = || {
        let what = "this server does not start runs: restart it with `--allow-run` to allow that";
        Problem::NotFound(what.into())
    };
    app.launcher.as_ref().ok_or_else(missing)
}

pub(crate) fn page(app: &App, query: &[(String, String)]) -> Result<Response, Problem> {
    let launcher = launcher(app)?;
    let launch = &launcher.launch;
    let wanted = Wanted::of(query, launch)?;
    let dir = app.folder.path().join(format!("{}-TIME", wanted.suite));
    let token = launcher.issue().map_err(|_| Problem::Defect)?;
    let view = View {
        site: app.site("Start a run", "start"),
        suites: launch.suites.clone(),
        gateways: launch.gateways.clone(),
        lengths: Launcher::lengths(),
        command: wanted.command(launch, &dir),
        length: wanted.length(),
        suite: wanted.suite,
        chosen: wanted.gateways,
        token: token.as_str().to_owned(),
    };
    Ok(view::page("start.html", &view))
}

/// Starts the run that a form describes, and redirects to its page.
pub(crate) fn run(app: &App, form: &[(String, String)]) -> Result<Response, Problem> {
    let launcher = launcher(app)?;
    if !launcher.redeem(&first(form, "token")) {
        return Err(Problem::Forbidden(
            "this form has already been used or is too old: reload the page",
        ));
    }
    let wanted = Wanted::of(form, &launcher.launch)?;
    let failed = |error| Problem::Conflict(format!("the run cannot be started: {error}"));
    let started = match app.is_measuring()? {
        true => None,
        false => launcher.start(&wanted, app.folder.path()).map_err(failed)?,
    };
    let busy =
        "another run is in progress, and two runs would disturb each other: wait until it ends";
    let name = started.ok_or_else(|| Problem::Conflict(busy.into()))?;
    Ok(Redirect::to(&href_of_run(&name)).into_response())
}
