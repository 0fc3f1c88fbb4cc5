//! Imports the options and requests of a k6 script, as far as they are known without running the
//! script, or the options that `k6 inspect` prints.

mod constants;
mod lexer;
mod options;
mod script;
mod value;

use std::time::Duration;

use gatebench_model::data::Uniform;
use gatebench_model::{
    Check, Group, HumanDuration, LoadProfile, Order, Phase, Request, Route, Scenario, Source,
    Transport, UpstreamKind,
};

use crate::api::route_path;
use crate::defaults;
use crate::error::ImportError;
use crate::folder::{Folder, SUITE_FILE};
use crate::log::{Log, Note};
use crate::name::{Names, slug};
use crate::options::Options;
use options::{Iteration, Load};
pub(crate) use options::{Overrides, duration};
use script::{COMPUTED, SOURCE, Script};

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let mut log = Log::new(&options.file, text);
    let (script, loads) = read(text, &Overrides::default(), options, &mut log)?;
    let scenario = scenario(&script, &loads, options, &mut log);
    let mut folder = Folder {
        notes: log.finish()?,
        ..Folder::default()
    };
    let requests = script.requests.len();
    folder.facts.push(format!("requests: {requests}"));
    let comments = [format!("Imported from {}.", options.file)];
    folder.add_scenario("scenario.yaml", &comments, &scenario)?;
    folder.add("load.yaml", &[], &profile(&loads, options))?;
    let gateways = defaults::gateways(&["reference", "nginx", "haproxy"]);
    let scenarios = vec!["./scenario.yaml".into()];
    let title = format!("The requests of {}", options.file);
    let suite = defaults::suite(options, &title, gateways, scenarios, "./load.yaml");
    folder.add(SUITE_FILE, &[], &suite)?;
    Ok(folder)
}

/// A script, converted to a load and a scenario without policies.
pub(crate) struct Parts {
    pub(crate) scenario: Scenario,
    pub(crate) load: LoadProfile,
    pub(crate) notes: Vec<Note>,
}

/// Converts a script to a scenario and a load, without a suite.
///
/// # Errors
/// Fails if the text is neither JSON nor a script, or if no request in it can be read.
pub(crate) fn parts(
    text: &str,
    overrides: &Overrides,
    options: &Options,
) -> Result<Parts, ImportError> {
    let mut log = Log::new(&options.file, text);
    let (script, loads) = read(text, overrides, options, &mut log)?;
    let scenario = scenario(&script, &loads, options, &mut log);
    let load = profile(&loads, options);
    Ok(Parts {
        scenario,
        load,
        notes: log.finish()?,
    })
}

/// Converts only the load of a script, without think times, even if the requests cannot be read.
pub(crate) fn load(text: &str, overrides: &Overrides, options: &Options) -> LoadProfile {
    let mut log = Log::new(&options.file, text);
    let mut script = script::read(text, &mut log);
    overrides.apply(&mut script.options);
    let (loads, _) = options::loads(&script.options, &|_| Iteration::SINGLE);
    profile(&loads, options)
}

fn read(
    text: &str,
    overrides: &Overrides,
    options: &Options,
    log: &mut Log<'_>,
) -> Result<(Script, Vec<Load>), ImportError> {
    let is_json = text.trim_start().starts_with('{');
    let mut script = match is_json {
        true => inspected(text, options, log)?,
        false => script::read(text, log),
    };
    overrides.apply(&mut script.options);
    let iteration = |function: &str| script.iteration(function);
    let (loads, not_understood) = options::loads(&script.options, &iteration);
    for what in not_understood {
        let at = text.find("options").unwrap_or(0);
        log.simplified(&(at..at), what);
    }
    if script.requests.is_empty() {
        let message = "it has no request that can be read";
        let remedy = "write the requests of the script as http.get('...') with constant URLs, or import a HAR file";
        return Err(ImportError::nothing(&options.file, message, remedy));
    }
    Ok((script, loads))
}

/// Imports the options that `k6 inspect` printed. A single request replaces those of the script,
/// which `k6 inspect` does not print.
fn inspected(text: &str, options: &Options, log: &mut Log<'_>) -> Result<Script, ImportError> {
    let parsed = serde_json::from_str(text).map_err(|error| {
        let message = format!("line {}: this is neither JSON nor a script", error.line());
        let remedy = "name a script, or the output of `k6 inspect`";
        ImportError::nothing(&options.file, &message, remedy)
    })?;
    log.simplified(
        &(0..0),
        "requests, which `k6 inspect` does not print: GET / is sent instead",
    );
    Ok(Script {
        options: parsed,
        requests: vec![("default".into(), Request::new("GET", "/"))],
        ..Script::default()
    })
}

/// Adapts a request and its checks to the responses of gatebench's upstream. Notes the checks that
/// it removes, and a status other than 200 that it requests.
fn fit_checks(request: &mut Request, log: &mut Log<'_>) {
    if request.checks.is_empty() {
        request.checks = vec![Check::Status(200)];
    }
    let before = request.checks.len();
    let is_status = |check: &Check| matches!(check, Check::Status(_));
    request.checks.retain(is_status);
    if request.checks.len() < before {
        let label = request.label();
        let what = format!(
            "checks of the headers or body of {label}: gatebench's upstream sends a different response"
        );
        log.simplified(&(0..0), what);
    }
    if let Some(Check::Status(status)) = request.checks.first()
        && *status != 200
    {
        let status = status.to_string();
        let label = request.label();
        let what = format!(
            "the status {status} of {label}: the header X-Response-Status requests it from gatebench's upstream"
        );
        log.simplified(&(0..0), what);
        request.headers.insert("X-Response-Status".into(), status);
    }
}

fn scenario(script: &Script, loads: &[Load], options: &Options, log: &mut Log<'_>) -> Scenario {
    let mut requests: Vec<(String, Request)> = script.requests.clone();
    for (_, request) in &mut requests {
        fit_checks(request, log);
    }
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
    let is_divided = loads.len() > 1
        && options::phases(loads).is_none()
        && loads.iter().all(|load| !of(&load.function).is_empty());
    if !is_divided && options::phases(loads).is_none() {
        for load in loads.iter().skip(1) {
            let what = "omitted, because the requests of some scenarios cannot be read";
            let name = &load.name;
            log.simplified(&(0..0), format!("the load of the scenario {name}: {what}"));
        }
    }
    let groups: Vec<Group> = match is_divided {
        true => loads.iter().map(group).collect(),
        false => Vec::new(),
    };
    let all = requests.iter().map(|(_, request)| request.clone());
    let all: Vec<Request> = all.collect();
    // The template may be in the path, the headers or the body.
    let is_computed = |request: &&Request| {
        let written = serde_json::to_string(request);
        written.is_ok_and(|text| text.contains(COMPUTED))
    };
    let computed = Vec::from_iter(all.iter().filter(is_computed).map(Request::label));
    let uses_values = !computed.is_empty();
    let numbers = Uniform {
        min: 1,
        max: 1_000_000,
    };
    for label in computed {
        let what = format!(
            "values of {label} that exist only while k6 runs (variables, __ENV): numbers from 1 to \
             1,000,000 are sent instead"
        );
        log.simplified(&(0..0), what);
    }
    let values = (SOURCE.to_owned(), Source::Uniform(numbers));
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

/// Creates a route for each distinct first path segment.
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
            let name = names.unique(if path == "/" { "root" } else { &path });
            routes.push(Route::new(name, path));
        }
    }
    routes
}

fn profile(loads: &[Load], options: &Options) -> LoadProfile {
    let longest = loads.iter().map(|load| load.length).max();
    let longest = longest.unwrap_or(Duration::from_secs(10));
    let longest = HumanDuration(longest.max(Duration::from_secs(1)));
    let shape = loads.first().map(|load| load.shape.clone());
    let phases = options::phases(loads);
    LoadProfile {
        profile: "k6".into(),
        title: format!("The load of {}", options.file),
        cold: false,
        phases: phases
            .unwrap_or_else(|| vec![Phase::new("users", shape.unwrap_or_default(), longest)]),
    }
}
