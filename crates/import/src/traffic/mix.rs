//! Creates the mix: a scenario's requests in the proportions of a log.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gatebench_model::data::Rows;
use gatebench_model::{
    Body, Check, Order, ParityCase, Request, Route, Scenario, Source, UpstreamKind, template,
};

use super::METHODS;
use super::identifier::Kind;
use super::tree::{Entry, Segment, Tree};
use super::values;
use crate::api::route_path;
use crate::defaults;
use crate::name::Names;

/// The maximum number of requests in a scenario, each of which is a row in reports.
const REQUESTS_MAX: usize = 100;

/// The share of requests that a scenario may omit before paths are generalized.
const RARE_MAX: f64 = 0.005;

/// The maximum number of response sizes per request. All response sizes of a request are equally
/// frequent.
const SIZES: u32 = 20;

/// The maximum size in bytes of a request or a response.
const BYTES_MAX: u64 = 16 << 20;

const WEIGHT_MIN: f64 = 0.001;

/// The maximum number of routes with a parity case.
const PROVEN_MAX: usize = 50;

/// The most frequent recorded requests, with their counts.
pub(super) struct Mix {
    /// Sorted by frequency, most frequent first.
    entries: Vec<Entry>,
    /// The number of replayable requests in the selected part of the log.
    total: u64,
    /// The mean lengths of identifiers, by kind.
    lengths: Vec<(Kind, usize)>,
}

/// The agreement between the shares of requests in a scenario and in the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The share of the log that the scenario omits, from 0 to 1.
    pub left_out: f64,
    /// The largest difference between a request's shares in the scenario and in the log, from 0 to
    /// 1.
    pub difference_max: f64,
}

impl Mix {
    /// Reduces recorded paths to the requests of a scenario. If that would omit too many requests,
    /// generalizes paths.
    pub(super) fn of(mut tree: Tree) -> Self {
        for names_max in [usize::MAX, 50, 25, 12, 6, 3, 1, 0] {
            if names_max < usize::MAX {
                tree.coarsen(names_max);
            }
            let mut entries = tree.entries();
            let total: u64 = entries.iter().map(|it| it.tally.count).sum();
            entries.sort_by_cached_key(|it| (Reverse(it.tally.count), name_of(it)));
            entries.truncate(REQUESTS_MAX);
            let kept: u64 = entries.iter().map(|it| it.tally.count).sum();
            if (total - kept) as f64 <= RARE_MAX * total as f64 || names_max == 0 {
                let lengths = Kind::ALL.map(|(kind, _)| (kind, tree.length_of(kind)));
                return Self {
                    entries,
                    total,
                    lengths: lengths.into(),
                };
            }
        }
        unreachable!("the last round returns")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn shares(&self, scenario: &Scenario) -> Shares {
        let weights: f64 = scenario.requests.iter().map(|it| it.weight).sum();
        let total = self.total as f64;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for entry in &self.entries {
            *counts.entry(name_of(entry)).or_default() += entry.tally.count;
        }
        let kept: u64 = counts.values().sum();
        let difference = |request: &Request| {
            let in_log = counts.get(&request.label()).copied().unwrap_or(0) as f64 / total;
            (request.weight / weights - in_log).abs()
        };
        Shares {
            left_out: 1.0 - kept as f64 / total,
            difference_max: scenario.requests.iter().map(difference).fold(0.0, f64::max),
        }
    }

    pub(super) fn scenario(&self, name: &str, title: &str) -> Scenario {
        let mut data: BTreeMap<String, Source> = BTreeMap::new();
        let mut requests = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            requests.push(self.request(entry, number + 1, &mut data));
        }
        let segments = || self.entries.iter().flat_map(|it| &it.segments);
        let is_used = |kind: Kind| segments().any(|it| *it == Segment::Identifier(kind));
        let lengths = self.lengths.iter().filter(|(kind, _)| is_used(*kind));
        data.extend(values::sources(lengths.copied()));
        let routes = self.routes();
        Scenario {
            parity: routes.iter().take(PROVEN_MAX).map(proof).collect(),
            routes,
            data,
            order: Order::Random,
            requests,
            ..defaults::scenario(name, title, UpstreamKind::Any)
        }
    }

    fn request(
        &self,
        entry: &Entry,
        number: usize,
        data: &mut BTreeMap<String, Source>,
    ) -> Request {
        let tally = &entry.tally;
        let mut request = Request::new(METHODS[tally.method], path_of(&entry.segments));
        request.name = Some(name_of(entry));
        // Use percentages, because a weight has an upper limit.
        let percent = 100.0 * tally.count as f64 / self.total as f64;
        request.weight = (percent * 1e4).round().max(1e4 * WEIGHT_MIN) / 1e4;
        let status = match tally.status {
            status @ 200..=599 => status,
            _ => 200,
        };
        request.checks = vec![Check::Status(status)];
        let mut header = |name: &str, value| request.headers.insert(name.to_owned(), value);
        if status != 200 {
            header("X-Response-Status", status.to_string());
        }
        let sizes = tally.responses.quantiles(SIZES);
        let bytes = |size: &u64| (*size).min(BYTES_MAX).to_string();
        match &sizes[..] {
            [] => {}
            [size] => drop(header("X-Response-Bytes", bytes(size))),
            sizes => {
                let source = format!("size{number}");
                header("X-Response-Bytes", format!("{{{{ {source} }}}}"));
                let mut rows = Rows::new(0);
                sizes.iter().for_each(|size| rows.push(&bytes(size)));
                data.insert(source, values::uniform(rows));
            }
        }
        let means = tally.requests.quantiles(1);
        let mean = means.first().map_or(0, |mean| *mean.min(&BYTES_MAX));
        if mean > 0 && !matches!(METHODS[tally.method], "GET" | "HEAD") {
            request.body = usize::try_from(mean).ok().map(Body::filler);
        }
        request
    }

    fn routes(&self) -> Vec<Route> {
        let mut names = Names::default();
        let prefixes = self.entries.iter().map(|it| prefix_of(&it.segments));
        let prefixes: BTreeSet<String> = prefixes.collect();
        let route = |path: String| {
            let name = names.unique(if path == "/" { "root" } else { &path });
            Route::new(name, path)
        };
        prefixes.into_iter().map(route).collect()
    }
}

fn proof(route: &Route) -> ParityCase {
    let mut request = Request::new("GET", template::escape(&route.path));
    request.checks = vec![Check::Status(200)];
    let name = format!("the route {} leads to the upstream", route.name);
    ParityCase::new(name, request, true)
}

/// Returns a path with a template for each identifier.
fn path_of(segments: &[Segment]) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Name(name) => format!("/{}", template::escape(name)),
        Segment::Identifier(kind) => format!("/{{{{ {} }}}}", kind.name()),
        Segment::Query(text) => format!("?{}", template::escape(text)),
    };
    segments.iter().map(part).collect()
}

/// Returns the name for reports, such as `GET /users/{number}`, with the status unless it is 200.
fn name_of(entry: &Entry) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Name(name) => format!("/{name}"),
        Segment::Identifier(kind) => format!("/{{{}}}", kind.name()),
        Segment::Query(text) => format!("?{text}"),
    };
    let path: String = entry.segments.iter().map(part).collect();
    let status = match entry.tally.status {
        200 => String::new(),
        status => format!(" {status}"),
    };
    format!("{} {path}{status}", METHODS[entry.tally.method])
}

/// Returns a path's leading names, up to the first identifier or the first name with a character
/// that some gateways do not accept.
fn prefix_of(segments: &[Segment]) -> String {
    let mut prefix = String::new();
    for segment in segments {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
        match segment {
            Segment::Name(name) if !name.is_empty() && name.bytes().all(plain) => {
                prefix += &format!("/{name}");
            }
            _ => break,
        }
    }
    route_path(&prefix)
}
