//! k6: the options and the requests of a script, as far as they can be read without running it, or
//! the options that `k6 inspect` prints.

mod lexer;
mod options;
mod script;
mod value;

use std::time::Duration;

use gatebench_model::data::Uniform;
use gatebench_model::{
    Check, Group, HumanDuration, LoadProfile, Order, Phase, Request, Route, Scenario, Source,
    Suite, Transport, UpstreamKind,
};

use crate::api::route_path;
use crate::defaults;
use crate::error::ImportError;
use crate::folder::Folder;
use crate::log::Log;
use crate::name::{Names, slug};
use crate::options::Options;
use options::Load;
use script::{SOURCE, Script};

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let mut log = Log::new(&options.file, text);
    let is_json = text.trim_start().starts_with('{');
    let script = match is_json {
        true => inspected(text, options, &mut log)?,
        false => script::read(text, &mut log),
    };
    let (loads, not_understood) =
        options::loads(&script.options, &|function| script.think(function));
    for what in not_understood {
        let at = text.find("options").unwrap_or(0);
        log.simplified(&(at..at), what);
    }
    if script.requests.is_empty() {
        let remedy = "write the requests of the script as http.get('...') with constant URLs, or import a HAR";
        return Err(ImportError::nothing(
            &options.file,
            "it has no request that can be read",
            remedy,
        ));
    }
    let scenario = scenario(&script, &loads, options, &mut log);
    let mut folder = Folder {
        notes: log.finish()?,
        ..Folder::default()
    };
    folder
        .facts
        .push(format!("requests: {}", script.requests.len()));
    let comments = [format!("Imported from {}.", options.file)];
    folder.add_scenario("scenario.yaml", &comments, &scenario)?;
    folder.add_load("load.yaml", &[], &profile(&loads, options))?;
    let gateways = ["reference", "nginx", "haproxy"]
        .map(|it| it.to_owned().into())
        .into();
    let title = format!("The requests of {}", options.file);
    let suite = Suite {
        load: "./load.yaml".into(),
        ..defaults::suite(options, &title, gateways, vec!["./scenario.yaml".into()])
    };
    folder.add_suite(&[], &suite)?;
    Ok(folder)
}

/// Imports the options that `k6 inspect` printed, with one request in place of those that it does
/// not print.
fn inspected(text: &str, options: &Options, log: &mut Log<'_>) -> Result<Script, ImportError> {
    let parsed = serde_json::from_str(text).map_err(|error| {
        let message = format!("line {}: this is neither JSON nor a script", error.line());
        ImportError::nothing(
            &options.file,
            &message,
            "name a script, or the output of `k6 inspect`",
        )
    })?;
    log.simplified(&(0..0), "`k6 inspect` prints no requests: GET / is sent");
    Ok(Script {
        options: parsed,
        requests: vec![("default".into(), Request::new("GET", "/"))],
        ..Script::default()
    })
}

/// Configures the upstream to respond as the checks of a request demand, as far as possible.
fn fit_checks(request: &mut Request, log: &mut Log<'_>) {
    if request.checks.is_empty() {
        request.checks = vec![Check::Status(200)];
    }
    let before = request.checks.len();
    request
        .checks
        .retain(|check| matches!(check, Check::Status(_)));
    if request.checks.len() < before {
        let what = format!(
            "checks of the content of {}: the upstream here sends other content",
            request.label()
        );
        log.simplified(&(0..0), what);
    }
    if let Some(Check::Status(status)) = request
        .checks
        .first()
        .filter(|it| **it != Check::Status(200))
    {
        let status = status.to_string();
        request.headers.insert("X-Response-Status".into(), status);
    }
}

fn scenario(script: &Script, loads: &[Load], options: &Options, log: &mut Log<'_>) -> Scenario {
    let mut requests: Vec<(String, Request)> = script.requests.clone();
    requests
        .iter_mut()
        .for_each(|(_, request)| fit_checks(request, log));
    let of = |function: &str| -> Vec<Request> {
        let own = requests.iter().filter(|(name, _)| name == function);
        own.map(|(_, request)| request.clone()).collect()
    };
    let group = |load: &Load| Group {
        name: slug(&load.name),
        share: None,
        load: Some(load.shape.clone()),
        order: Order::InTurn,
        requests: of(&load.function),
    };
    let is_divided = loads.len() > 1 && loads.iter().all(|load| !of(&load.function).is_empty());
    let groups: Vec<Group> = if is_divided {
        loads.iter().map(group).collect()
    } else {
        Vec::new()
    };
    let all: Vec<Request> = requests
        .iter()
        .map(|(_, request)| request.clone())
        .collect();
    let uses_values = all
        .iter()
        .any(|it| format!("{it:?}").contains(&format!("{{{{ {SOURCE} }}}}")));
    let values = (
        SOURCE.to_owned(),
        Source::Uniform(Uniform {
            min: 1,
            max: 1_000_000,
        }),
    );
    let title = format!("The requests of {}", options.file);
    Scenario {
        transport: Transport {
            tls: script.has_tls,
            ..Transport::default()
        },
        routes: routes(&all),
        data: uses_values.then_some(values).into_iter().collect(),
        order: Order::InTurn,
        requests: if groups.is_empty() { all } else { Vec::new() },
        groups,
        ..defaults::scenario(&options.name, &title, UpstreamKind::Any)
    }
}

/// Creates a route for each first segment.
fn routes(requests: &[Request]) -> Vec<Route> {
    let mut names = Names::default();
    let mut routes: Vec<Route> = Vec::new();
    for request in requests {
        let literal = request.path.split(['?', '{']).next().unwrap_or("/");
        let goes_on = request.path[literal.len()..].starts_with('{');
        let path = match literal[1..].find('/') {
            Some(end) => &literal[..=end],
            None if goes_on => "/",
            None => literal,
        };
        let path = route_path(path);
        if routes.iter().all(|route| route.path != path) {
            routes.push(Route {
                name: names.unique(if path == "/" { "root" } else { &path }),
                path,
                strip_path: false,
                policies: Vec::new(),
            });
        }
    }
    routes
}

fn profile(loads: &[Load], options: &Options) -> LoadProfile {
    let longest = loads
        .iter()
        .map(|load| load.length)
        .max()
        .unwrap_or(Duration::from_secs(10));
    let shape = loads
        .first()
        .map(|load| load.shape.clone())
        .unwrap_or_default();
    LoadProfile {
        profile: "k6".into(),
        title: format!("The load of {}", options.file),
        cold: false,
        phases: vec![Phase::new(
            "users",
            shape,
            HumanDuration(longest.max(Duration::from_secs(1))),
        )],
    }
}
