//! Rules of scenarios.

use gatebench_config::{Data, HumanDuration, Node, Problem};

use super::template::Sources;
use super::{admin, data, groups, http, policies, soap, unique};
use crate::data::Rows;
use crate::route::path_matches;

/// The mistakes of a scenario beyond its schema. `text` is the text that `root` was read from,
/// `attachments` are the rows of the files that it names.
pub(crate) fn check(
    root: &Node,
    text: &str,
    attachments: &[(String, Rows)],
    problems: &mut Vec<Problem>,
) {
    names(root, problems);
    transport(root, problems);
    routes(root, problems);
    consumers(root, problems);
    policies::somebody_may_call(root, problems);
    policies::passwords(root, problems);
    data::check(root, problems);
    groups::check(root, problems);
    let sources = Sources::of(root, text, attachments);
    for request in groups::requests(root) {
        self::request(request, problems);
        sources.request(request, problems);
        if let Some(direct) = request.get("floor") {
            self::request(direct, problems);
            sources.request(direct, problems);
        }
        splits_a_segment(root, request, problems);
        reaches_a_route(root, request, problems);
    }
    cases(root, root, &sources, problems);
    if let Some(later) = root.get("later") {
        let changed = changed(root, later);
        names(&changed, problems);
        routes(later, problems);
        cases(&changed, later, &sources, problems);
    }
    soap::upstreams(root, problems);
    scrapes(root, problems);
    weights(root, problems);
    upstreams(root, problems);
    admin::check(root, problems);
}

/// The cases of a part of the file, on the routes of `root`.
fn cases(root: &Node, part: &Node, sources: &Sources<'_>, problems: &mut Vec<Problem>) {
    for case in part.list("parity") {
        let Some(request) = case.get("request") else {
            continue;
        };
        self::request(request, problems);
        sources.known_request(request, problems);
        weight_of_one(request, problems);
        if !is_refused(case) {
            splits_a_segment(root, request, problems);
        }
        parity(root, case, request, problems);
    }
}

/// The routes and cases after the change, and nothing else.
fn changed(root: &Node, later: &Node) -> Node {
    let name = |route: &Node| route.get("name").and_then(Node::text).map(str::to_owned);
    let new: Vec<Option<String>> = later.list("routes").iter().map(name).collect();
    let kept = root
        .list("routes")
        .iter()
        .filter(|it| !new.contains(&name(it)));
    let routes: Vec<Node> = kept.chain(later.list("routes")).cloned().collect();
    let cases = root.list("parity").iter().chain(later.list("parity"));
    let mut all = later.clone();
    for (key, items) in [("routes", routes), ("parity", cases.cloned().collect())] {
        if let Some(list) = all.get_mut(key) {
            list.data = Data::List(items);
        }
    }
    all
}

/// Each list has a weight for each target.
fn weights(root: &Node, problems: &mut Vec<Problem>) {
    let targets = root.get("targets").and_then(Node::number).unwrap_or(1.0);
    for list in root.list("weights") {
        let count = list.items().len();
        if count as f64 != targets {
            let message = format!("{count} weights for {targets} targets");
            let help = "write one for each target, or another number under `targets:`";
            problems.push(Problem::new(list.head(), message, help));
        }
    }
    if let Some(entry) = root.entry("weights")
        && targets < 2.0
    {
        let message = "with one target there is nothing to weigh";
        let help = "write how many processes the upstream has, as in `targets: 3`";
        problems.push(Problem::new(entry.key_span.clone(), message, help));
    }
}

/// An upstream that no route leads to would be one that no gateway is asked for.
fn upstreams(root: &Node, problems: &mut Vec<Problem>) {
    let Some((node, count)) = root
        .get("upstreams")
        .and_then(|it| Some((it, it.number()?)))
    else {
        return;
    };
    let routes = root.list("routes").len();
    if count > routes as f64 {
        let message = format!("{count} upstreams for {routes} routes");
        let help = "write as many routes at least; each leads to one upstream";
        problems.push(Problem::new(node.span.clone(), message, help));
    }
}

/// Metrics are shown by the second.
fn scrapes(root: &Node, problems: &mut Vec<Problem>) {
    let every = root.get("metrics").and_then(|it| it.get("scrape_every"));
    let span = every
        .and_then(Node::text)
        .and_then(|it| it.parse::<HumanDuration>().ok());
    if let Some((node, span)) = every.zip(span)
        && (span.as_nanos() == 0 || span.as_nanos() % 1_000_000_000 != 0)
    {
        let message = format!("metrics cannot be fetched every {span}");
        let help = "write whole seconds, as in 1s";
        problems.push(Problem::new(node.span.clone(), message, help));
    }
}

/// HTTP/2 in the clear is spoken by few gateways, and by no browser.
fn transport(root: &Node, problems: &mut Vec<Problem>) {
    let Some(transport) = root.get("transport") else {
        return;
    };
    let is_secure = transport
        .get("tls")
        .is_some_and(|tls| matches!(tls.data, Data::Bool(true)));
    if let Some(entry) = transport.entry("http2_streams").filter(|_| !is_secure) {
        let message = "HTTP/2 is agreed on by TLS, which `transport` does not ask for";
        let help = "add `tls: true`";
        problems.push(Problem::new(entry.key_span.clone(), message, help));
    }
}

fn names(root: &Node, problems: &mut Vec<Problem>) {
    for (list, what, help) in [
        ("routes", "routes", "give each route a name of its own"),
        (
            "consumers",
            "consumers",
            "give each consumer a name of its own",
        ),
        ("groups", "groups", "give each group a name of its own"),
        (
            "parity",
            "parity cases",
            "say in each name what only this case proves",
        ),
    ] {
        unique(
            root.list(list).iter().filter_map(|item| item.get("name")),
            what,
            help,
            problems,
        );
    }
    let paths = root
        .list("routes")
        .iter()
        .filter_map(|route| route.get("path"));
    unique(
        paths,
        "paths of routes",
        "give each route a path of its own",
        problems,
    );
}

fn routes(root: &Node, problems: &mut Vec<Problem>) {
    for route in root.list("routes") {
        if let Some(path) = route.get("path") {
            prefix(path, problems);
        }
        policies::check(route, problems);
    }
}

fn prefix(path: &Node, problems: &mut Vec<Problem>) {
    let text = path.text().unwrap_or_default();
    let bare = text.trim_end_matches('/');
    if text.contains("{{") {
        let message = "the path of a route is no template";
        let help = "write it out; `{{ index }}` stands for a number under `repeat:`";
        problems.push(Problem::new(path.span.clone(), message, help));
    } else if text.contains('?') {
        let message = "a route cannot have a query";
        let help = "end the prefix before the `?`";
        problems.push(Problem::new(path.span.clone(), message, help));
    } else if !bare.is_empty() && bare != text {
        let message = format!("gateways differ in whether the route `{text}` holds `{bare}`");
        let help = format!("write `{bare}`, which holds everything below it");
        problems.push(Problem::new(path.span.clone(), message, help));
    }
}

fn consumers(root: &Node, problems: &mut Vec<Problem>) {
    let keys = || {
        root.list("consumers")
            .iter()
            .flat_map(|consumer| consumer.list("keys"))
    };
    unique(
        keys(),
        "keys",
        "give each consumer keys of its own",
        problems,
    );
    for key in keys() {
        let text = key.text();
        if text == Some("") {
            let help = "write a key, or remove it";
            problems.push(Problem::new(key.span.clone(), "a key is empty", help));
        } else if text.is_some_and(|text| !text.bytes().all(|byte| byte.is_ascii_graphic())) {
            let message = "a key holds a blank or a character outside ASCII, which gateways treat differently";
            let help = "write it in ASCII letters, digits and signs, without blanks";
            problems.push(Problem::new(key.span.clone(), message, help));
        }
    }
}

fn request(request: &Node, problems: &mut Vec<Problem>) {
    http::request_headers(request, problems);
    one_body(request, problems);
    direct_differs(request, problems);
    for check in request.list("checks") {
        if let Some(value) = check.get("header").and_then(|header| header.get("equals")) {
            http::field_value(value, problems);
        }
    }
}

/// A body that was read from a file has the place of its path.
fn one_body(request: &Node, problems: &mut Vec<Problem>) {
    if let (Some(body), Some(file)) = (request.get("body"), request.entry("body_file"))
        && body.span != file.value.span
    {
        let message = "`body` and `body_file` exclude each other";
        problems.push(Problem::new(
            file.key_span.clone(),
            message,
            "keep one of them",
        ));
    }
}

fn weight_of_one(request: &Node, problems: &mut Vec<Problem>) {
    if let Some(weight) = request.entry("weight") {
        let message = "a parity case is sent once, whatever its weight";
        problems.push(Problem::new(weight.key_span.clone(), message, "remove it"));
    }
}

/// Reports a direct request that is the same as the gateway's.
fn direct_differs(request: &Node, problems: &mut Vec<Problem>) {
    if let Some(direct) = request.entry("floor")
        && direct.value.entries().is_empty()
    {
        let message = "`floor` changes nothing";
        problems.push(Problem::new(direct.key_span.clone(), message, "remove it"));
    }
}

/// Whether a path leaves a prefix in the middle of a segment.
fn splits(prefix: &str, path: &str) -> bool {
    prefix.starts_with('/') && path.starts_with(prefix) && !path_matches(prefix, path)
}

/// Whether a case proves that a request stays away from the upstream.
fn is_refused(case: &Node) -> bool {
    case.get("reaches_upstream")
        .is_some_and(|reaches| matches!(reaches.data, Data::Bool(false)))
}

/// By themselves gateways differ in whether `/jsonx` lies under `/json`. Every folder has to say that it
/// does not, which a case may prove; nothing else may depend on it.
fn splits_a_segment(root: &Node, request: &Node, problems: &mut Vec<Problem>) {
    let Some((node, path)) = request
        .get("path")
        .and_then(|node| Some((node, node.text()?)))
    else {
        return;
    };
    let routes = root.list("routes").iter();
    let mut prefixes = routes.filter_map(|route| route.get("path")?.text());
    // The longest prefix wins everywhere, so a longer one that holds the path leaves no doubt.
    let holding = prefixes.clone().filter(|prefix| path_matches(prefix, path));
    let longest = holding.map(str::len).max().unwrap_or(0);
    let in_doubt = |prefix: &&str| splits(prefix, path) && prefix.len() > longest;
    if let Some(prefix) = prefixes.find(in_doubt) {
        let message = format!("gateways differ in whether `{path}` is under the route `{prefix}`");
        let help = format!("write `{prefix}/...`, or a path that does not begin with `{prefix}`");
        problems.push(Problem::new(node.span.clone(), message, help));
    }
}

/// The route that a request takes: the longest prefix wins. `Err` where routes or path have a mistake
/// of their own, so that nothing can be said.
fn route_of<'n>(root: &'n Node, request: &Node) -> Result<Option<&'n Node>, ()> {
    let path = request.get("path").and_then(Node::text).ok_or(())?;
    let mut best: Option<(&str, &Node)> = None;
    for route in root.list("routes") {
        let prefix = route
            .get("path")
            .and_then(Node::text)
            .filter(|prefix| prefix.starts_with('/'))
            .ok_or(())?;
        if path_matches(prefix, path)
            && best.is_none_or(|(longest, _)| prefix.len() > longest.len())
        {
            best = Some((prefix, route));
        }
    }
    let longest = best.map_or(0, |(prefix, _)| prefix.len());
    let routes = root.list("routes").iter();
    let mut prefixes = routes.filter_map(|route| route.get("path")?.text());
    if prefixes.any(|prefix| splits(prefix, path) && prefix.len() > longest) {
        return Err(());
    }
    let known = path.starts_with('/') && !root.list("routes").is_empty();
    if known {
        Ok(best.map(|(_, route)| route))
    } else {
        Err(())
    }
}

fn reaches_a_route(root: &Node, request: &Node, problems: &mut Vec<Problem>) {
    if let Ok(None) = route_of(root, request)
        && let Some(path) = request.get("path")
    {
        let prefixes = root
            .list("routes")
            .iter()
            .filter_map(|route| route.get("path")?.text());
        let help = format!(
            "begin it with the path of a route: {}",
            gatebench_config::suggest::listed(prefixes, "or")
        );
        let message = format!("no route matches `{}`", path.text().unwrap_or_default());
        problems.push(Problem::new(path.span.clone(), message, help));
    }
}

/// A case that reaches the upstream needs a way there.
fn parity(root: &Node, case: &Node, request: &Node, problems: &mut Vec<Problem>) {
    let Some(reaches) = case.entry("reaches_upstream") else {
        return;
    };
    if !matches!(reaches.value.data, Data::Bool(true)) {
        return;
    }
    reaches_a_route(root, request, problems);
    if let Ok(Some(route)) = route_of(root, request)
        && route
            .list("policies")
            .iter()
            .any(|policy| policy.get("mock").is_some())
    {
        let help = "write `reaches_upstream: false`, or remove `mock` from the route";
        let message = "this cannot reach the upstream: the route's `mock` answers it";
        problems.push(Problem::new(reaches.value.span.clone(), message, help));
    }
}
