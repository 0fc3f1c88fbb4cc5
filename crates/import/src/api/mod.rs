//! An API as a gateway's configuration describes it, with routes, policies and consumers, and its
//! conversion to a scenario.

mod definitions;
mod requests;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gatebench_model::{
    ConfiguredGateway, Consumer, Metrics, Policy, Route, Scenario, SuiteGateway, Transport,
    UpstreamKind,
};

use crate::defaults;
use crate::error::ImportError;
use crate::folder::{Folder, SUITE_FILE};
use crate::log::Log;
use crate::name::Names;
use crate::options::Options;

/// The maximum number of routes with parity cases, which keeps the time for their checks short.
const PROVEN_ROUTES_MAX: usize = 100;

#[derive(Default)]
pub(crate) struct Api {
    pub(crate) routes: Vec<ApiRoute>,
    pub(crate) consumers: Vec<Consumer>,
    /// True if clients must use TLS.
    pub(crate) has_tls: bool,
    pub(crate) has_metrics: bool,
    /// Settings that are not specific to one route and have no corresponding policy.
    pub(crate) not_understood: Vec<String>,
}

/// A route, and a request that matches it.
#[derive(Clone)]
pub(crate) struct ApiRoute {
    pub(crate) route: Route,
    pub(crate) method: String,
    /// The path of a request that matches the route.
    pub(crate) sample: String,
    /// Headers that a request needs to match the route, such as Host.
    pub(crate) headers: BTreeMap<String, String>,
    /// The clients that the route accepts; `None` if no access list restricts them.
    pub(crate) clients: Option<BTreeSet<String>>,
    /// The name of the upstream in the configuration, which may be followed by its address.
    pub(crate) service: String,
    /// Settings that affect this route but have no corresponding policy.
    pub(crate) not_understood: Vec<String>,
}

impl ApiRoute {
    pub(crate) fn new(name: String, path: String) -> Self {
        Self {
            sample: path.clone(),
            route: Route::new(name, path),
            method: "GET".into(),
            headers: BTreeMap::new(),
            clients: None,
            service: String::new(),
            not_understood: Vec::new(),
        }
    }
}

/// The routes that have been read. Their paths are unique and valid in scenarios.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) all: Vec<ApiRoute>,
    names: Names,
    paths: BTreeSet<String>,
}

impl Routes {
    /// Adds a route for a prefix. A second route with the same prefix is omitted, because a
    /// scenario selects routes by prefix alone.
    pub(crate) fn add(
        &mut self,
        name: &str,
        prefix: &str,
        span: &Range<usize>,
        log: &mut Log<'_>,
    ) -> Option<&mut ApiRoute> {
        let path = route_path(prefix);
        if !self.paths.insert(path.clone()) {
            let what = format!(
                "the route {name}, which has the same prefix as another route ({path}): it gets no requests"
            );
            log.simplified(span, what);
            return None;
        }
        let name = self.names.unique(name);
        self.all.push(ApiRoute::new(name, path));
        self.all.last_mut()
    }
}

/// Returns the part of a prefix before the first character that some gateways do not accept, with a
/// leading slash and without a trailing one.
pub(crate) fn route_path(prefix: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._~-%:@!$&'()*+,;=".contains(c);
    let end = prefix.find(|c: char| !plain(c)).unwrap_or(prefix.len());
    let path = prefix[..end].trim_end_matches('/');
    format!("/{}", path.strip_prefix('/').unwrap_or(path))
}

impl Api {
    /// Writes the API's scenarios, and returns the paths of their files.
    pub(crate) fn write(
        &self,
        title: &str,
        comments: &[String],
        options: &Options,
        folder: &mut Folder,
    ) -> Result<Vec<String>, ImportError> {
        if self.routes.is_empty() {
            let remedy = "name a file with at least one route that leads to an upstream";
            return Err(ImportError::nothing(
                &options.file,
                "it has no route",
                remedy,
            ));
        }
        let mut paths = Vec::new();
        for mut scenario in self.scenarios(title, options) {
            let path = match options.each_route {
                true => format!("{}.yaml", scenario.scenario),
                false => "scenario.yaml".to_owned(),
            };
            definitions::move_to_files(&mut scenario, folder);
            folder.add_scenario(&path, comments, &scenario)?;
            paths.push(format!("./{path}"));
        }
        Ok(paths)
    }

    /// Writes the API's scenarios, the configuration that the API was read from, and a suite that
    /// uses both.
    pub(crate) fn write_with_config(
        &self,
        log: Log<'_>,
        gateway: &str,
        copy: &str,
        text: &str,
        options: &Options,
    ) -> Result<Folder, ImportError> {
        let mut folder = Folder {
            notes: log.finish()?,
            ..Folder::default()
        };
        folder.add_text(copy, text, true);
        let comments = [format!(
            "Imported from {}. The suite measures {gateway} with the file itself ({copy}), and the \
             reference gateway with these routes and policies.",
            options.file
        )];
        let title = format!("{}, imported from {gateway}", options.name);
        let scenarios = self.write(&title, &comments, options, &mut folder)?;
        let own = SuiteGateway::Configured(ConfiguredGateway {
            gateway: gateway.into(),
            config: copy.into(),
        });
        let gateways = vec![own, "reference".to_owned().into()];
        let suite = defaults::suite(options, &title, gateways, scenarios, "tour");
        folder.add(SUITE_FILE, &[], &suite)?;
        Ok(folder)
    }

    fn scenarios(&self, title: &str, options: &Options) -> Vec<Scenario> {
        let of = |name: &str, title: &str, routes: &[ApiRoute]| {
            self.scenario(name, title, routes, upstream_of(routes))
        };
        if !options.each_route {
            return vec![of(&options.name, title, &self.routes)];
        }
        let of_route = |route: &ApiRoute| {
            let name = &route.route.name;
            let title = format!("{title}, route {name}");
            of(name, &title, std::slice::from_ref(route))
        };
        self.routes.iter().map(of_route).collect()
    }

    pub(crate) fn scenario(
        &self,
        name: &str,
        title: &str,
        routes: &[ApiRoute],
        upstream: UpstreamKind,
    ) -> Scenario {
        let of_routes = routes.iter().flat_map(|it| &it.not_understood);
        let not_understood = self.not_understood.iter().chain(of_routes);
        let mut seen = BTreeSet::new();
        let not_understood = not_understood.filter(|it| seen.insert(*it));
        let policies = || routes.iter().flat_map(|it| &it.route.policies);
        let more = policies().flat_map(further_upstreams);
        let needs_consumers =
            policies().any(|it| matches!(it.kind(), "api_key" | "api_key_query" | "basic_auth"));
        let proven = &routes[..routes.len().min(PROVEN_ROUTES_MAX)];
        let good = |route: &ApiRoute| requests::good(route, self, upstream);
        Scenario {
            transport: Transport {
                tls: self.has_tls,
                ..Transport::default()
            },
            routes: routes.iter().map(|it| it.route.clone()).collect(),
            consumers: match needs_consumers {
                true => self.consumers.clone(),
                false => Vec::new(),
            },
            requests: routes.iter().map(good).collect(),
            parity: requests::cases(proven, self, upstream),
            more_upstreams: more
                .map(|name| (name, UpstreamKind::CalculatorSoap2))
                .collect(),
            not_understood: not_understood.cloned().collect(),
            metrics: self.has_metrics.then(Metrics::default),
            ..defaults::scenario(name, title, upstream)
        }
    }
}

fn further_upstreams(policy: &Policy) -> impl Iterator<Item = String> {
    let chain = match policy {
        Policy::Soap(soap) => soap.request.as_ref(),
        _ => None,
    };
    let targets = chain.into_iter().flat_map(|it| &it.route_xpath_targets);
    targets.filter_map(|target| target.upstream.clone())
}

/// Returns the embedded upstream whose name is part of every route's service name, or else the one
/// that serves every path.
fn upstream_of(routes: &[ApiRoute]) -> UpstreamKind {
    let known = [
        ("calculator", UpstreamKind::Calculator),
        ("httpbin", UpstreamKind::Httpbin),
        ("go-bench", UpstreamKind::GoBench),
    ];
    let services = routes.iter().map(|it| it.service.to_ascii_lowercase());
    let is_of_all = |word: &str| services.clone().all(|it| it.contains(word));
    let found = known.iter().find(|(word, _)| is_of_all(word));
    found.map_or(UpstreamKind::Any, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use gatebench_model::policy::ApiKeyQueryPolicy;

    use super::*;

    #[test]
    fn a_request_sends_every_key_of_its_query() {
        let key = |name: &str| Policy::ApiKeyQuery(ApiKeyQueryPolicy { name: name.into() });
        let mut route = ApiRoute::new("r".into(), "/".into());
        route.route.policies = vec![key("a"), key("b")];
        let consumer = Consumer {
            keys: vec!["k".into()],
            ..Consumer::default()
        };
        let api = Api {
            consumers: vec![consumer],
            ..Api::default()
        };
        let request = requests::good(&route, &api, UpstreamKind::Any);
        assert_eq!(request.path, "/?a=k&b=k");
    }

    #[test]
    fn a_prefix_ends_before_an_unsupported_character() {
        for (prefix, path) in [
            ("/a/", "/a"),
            ("/", "/"),
            ("", "/"),
            ("a/b", "/a/b"),
            ("/a{id}/b", "/a"),
            ("/a/é", "/a"),
        ] {
            assert_eq!(route_path(prefix), path, "{prefix}");
        }
    }

    #[test]
    fn an_upstream_is_chosen_by_the_names_of_services() {
        let route = |service: &&str| ApiRoute {
            service: (*service).into(),
            ..ApiRoute::new("r".into(), "/".into())
        };
        let of = |services: &[&str]| upstream_of(&Vec::from_iter(services.iter().map(route)));
        assert_eq!(of(&["ws-calculator.default"]), UpstreamKind::Calculator);
        assert_eq!(of(&["httpbin", "orders"]), UpstreamKind::Any);
    }
}
