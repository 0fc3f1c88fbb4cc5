//! The mix: the requests of a scenario, in proportion to those of a log.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_model::data::{List, Pick, Rows};
use gatebench_model::{
    Body, Check, Order, ParityCase, Request, Route, Scenario, Source, UpstreamKind, When, template,
};

use super::METHODS;
use super::identifier::Kind;
use super::tree::{Entry, Segment, Tree};
use super::values;
use crate::api::route_path;
use crate::defaults;
use crate::name::Names;

/// The largest number of requests in a scenario: reports have a row for each.
const REQUESTS_MAX: usize = 100;

/// The largest share of a log that a scenario may omit because it consists of rare requests.
const RARE_MAX: f64 = 0.005;

/// The number of response sizes of a request, all equally frequent.
const SIZES: u32 = 20;

/// The size of the largest response and the largest request in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// The smallest weight that a scenario may have.
const WEIGHT_MIN: f64 = 0.001;

/// The number of routes that get a parity case.
const PROVEN_MAX: usize = 50;

/// The mix of recorded requests.
pub(super) struct Mix {
    /// The requests, most frequent first.
    entries: Vec<Entry>,
    /// The number of requests in the log that can be replayed.
    total: u64,
    /// Mean lengths of the identifiers.
    lengths: Vec<(Kind, usize)>,
}

/// The agreement of the shares of a scenario's requests with those of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The share of the log that the scenario omits, 0 to 1.
    pub left_out: f64,
    /// The largest difference between the share of a request in the scenario and that in the log,
    /// 0 to 1.
    pub difference_max: f64,
}

impl Mix {
    /// Reduces a record to the requests of a scenario. If that would omit too much, paths are
    /// generalised.
    pub(super) fn of(mut tree: Tree) -> Self {
        for names_max in [usize::MAX, 50, 25, 12, 6, 3, 1, 0] {
            if names_max < usize::MAX {
                tree.coarsen(names_max);
            }
            let mut entries = tree.entries();
            let total: u64 = entries.iter().map(|it| it.tally.count).sum();
            entries.sort_by(|a, b| {
                b.tally
                    .count
                    .cmp(&a.tally.count)
                    .then_with(|| name_of(a).cmp(&name_of(b)))
            });
            entries.truncate(REQUESTS_MAX);
            let kept: u64 = entries.iter().map(|it| it.tally.count).sum();
            if (total - kept) as f64 <= RARE_MAX * total as f64 || names_max == 0 {
                let lengths = Kind::ALL.map(|kind| (kind, tree.length_of(kind)));
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

    /// Compares the shares of a scenario's requests with those of the log.
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

    /// The scenario that sends this mix.
    pub(super) fn scenario(&self, name: &str, title: &str) -> Scenario {
        let mut data: BTreeMap<String, Source> = BTreeMap::new();
        let mut requests = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            requests.push(self.request(entry, number + 1, &mut data));
        }
        let used: BTreeSet<Kind> = self
            .entries
            .iter()
            .flat_map(|it| kinds(&it.segments))
            .collect();
        let lengths = self.lengths.iter().filter(|(kind, _)| used.contains(kind));
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
        // In percent, because a weight has an upper limit.
        let percent = 100.0 * tally.count as f64 / self.total as f64;
        request.weight = (percent * 1e4).round().max(1e4 * WEIGHT_MIN) / 1e4;
        let status = if (200..=599).contains(&tally.status) {
            tally.status
        } else {
            200
        };
        request.checks = vec![Check::Status(status)];
        if status != 200 {
            request
                .headers
                .insert("X-Response-Status".into(), status.to_string());
        }
        let sizes = tally.responses.quantiles(SIZES);
        let bytes = |size: &u64| (*size).min(BYTES_MAX).to_string();
        match &sizes[..] {
            [] => {}
            [size] => drop(
                request
                    .headers
                    .insert("X-Response-Bytes".into(), bytes(size)),
            ),
            sizes => {
                let source = format!("size{number}");
                let header = format!("{{{{ {source} }}}}");
                request.headers.insert("X-Response-Bytes".into(), header);
                let mut rows = Rows::new(0);
                sizes.iter().for_each(|size| rows.push(&bytes(size)));
                data.insert(source, uniform(rows));
            }
        }
        let mean = tally
            .requests
            .quantiles(1)
            .first()
            .copied()
            .unwrap_or(0)
            .min(BYTES_MAX);
        if mean > 0 && !matches!(METHODS[tally.method], "GET" | "HEAD") {
            request.body = usize::try_from(mean).ok().map(Body::filler);
        }
        request
    }

    /// Creates a route for each prefix of names with which paths begin.
    fn routes(&self) -> Vec<Route> {
        let mut names = Names::default();
        let prefixes: BTreeSet<String> = self
            .entries
            .iter()
            .map(|it| prefix_of(&it.segments))
            .collect();
        let route = |path: &String| Route {
            name: names.unique(if path == "/" { "root" } else { path }),
            path: path.clone(),
            strip_path: false,
            policies: Vec::new(),
        };
        prefixes.iter().map(route).collect()
    }
}

fn uniform(values: Rows) -> Source {
    Source::List(List {
        columns: Vec::new(),
        values,
        pick: Pick::Uniform,
        exponent: None,
    })
}

fn proof(route: &Route) -> ParityCase {
    let mut request = Request::new("GET", template::escape(&route.path));
    request.checks = vec![Check::Status(200)];
    ParityCase {
        name: format!("the route {} leads to the upstream", route.name),
        request,
        reaches_upstream: true,
        upstream_body_bytes: None,
        when: When::Both,
    }
}

fn kinds(segments: &[Segment]) -> impl Iterator<Item = Kind> {
    segments.iter().filter_map(|segment| match segment {
        Segment::Identifier(kind) => Some(*kind),
        Segment::Name(_) | Segment::Query(_) => None,
    })
}

/// A path with a template for each identifier.
fn path_of(segments: &[Segment]) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Name(name) => format!("/{}", template::escape(name)),
        Segment::Identifier(kind) => format!("/{{{{ {} }}}}", kind.name()),
        Segment::Query(text) => format!("?{}", template::escape(text)),
    };
    segments.iter().map(part).collect()
}

/// The name in figures: `GET /users/{number}`, and the status if it is not a success.
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

/// The names with which a path begins, in characters that every gateway accepts.
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
