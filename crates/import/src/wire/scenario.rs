//! Creates the scenario for a configuration, with a request for each route that leads to an
//! upstream.

use gatebench_model::{Check, Scenario, UpstreamKind, When};

use crate::api::{Api, Routes};
use crate::log::Log;
use crate::name::slug;
use crate::regex_sample;

/// The maximum number of hints that become routes.
const ROUTES_MAX: usize = 50;

/// A route of a configuration that leads to an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hint {
    /// The server name, if requests must contain one.
    pub(super) host: Option<String>,
    /// The literal text that the route's paths begin with.
    pub(super) prefix: String,
    /// A path that matches the route.
    pub(super) sample: String,
}

impl Hint {
    pub(super) fn prefix(host: Option<String>, prefix: &str) -> Self {
        Self {
            host,
            prefix: prefix.to_owned(),
            sample: prefix.to_owned(),
        }
    }

    /// Creates a hint for a regular expression. Returns `None` if no matching path is known.
    pub(super) fn expression(host: Option<String>, expression: &str) -> Option<Self> {
        Some(Self {
            host,
            prefix: regex_sample::literal_prefix(expression),
            sample: regex_sample::sample_path(expression).filter(|it| it.starts_with('/'))?,
        })
    }
}

/// Returns the scenario for the hints, or `None` if there are none. A request that exceeds a limit
/// of the configuration gets the status `beyond`.
pub(super) fn of_hints(
    file: &str,
    hints: &[Hint],
    has_tls: bool,
    beyond: Option<u16>,
) -> Option<Scenario> {
    let mut log = Log::new(file, "");
    let mut routes = Routes::default();
    for hint in hints.iter().take(ROUTES_MAX) {
        let host = hint.host.as_deref().unwrap_or_default();
        let name = slug(&format!("{host} {}", hint.prefix));
        let Some(route) = routes.add(&name, &hint.prefix, &(0..0), &mut log) else {
            continue;
        };
        route.sample.clone_from(&hint.sample);
        let host = hint.host.iter();
        route.headers = host.map(|it| ("Host".to_owned(), it.clone())).collect();
    }
    let api = Api {
        routes: routes.all,
        has_tls,
        ..Api::default()
    };
    let mut scenario = of_api(file, &api)?;
    if let Some(beyond) = beyond {
        for request in &mut scenario.requests {
            request.checks = vec![Check::StatusIn(vec![200, beyond])];
        }
        // The load may exhaust the limit, so check parity only before the load.
        for case in &mut scenario.parity {
            case.when = When::Before;
        }
    }
    Some(scenario)
}

pub(super) fn of_api(file: &str, api: &Api) -> Option<Scenario> {
    let stem = file.rsplit('/').next().unwrap_or(file);
    let name = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let title = format!("The routes of {stem}");
    let has_routes = !api.routes.is_empty();
    has_routes.then(|| api.scenario(&slug(name), &title, &api.routes, UpstreamKind::Any))
}
