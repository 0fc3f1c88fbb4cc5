//! Rules for scenarios.

use gatebench_config::suggest::listed;
use gatebench_config::{Data, Entry, Node, Problem};

use super::template::Sources;
use super::{admin, data, groups, http, policies, soap, span, unique};
use crate::data::Rows;
use crate::route::path_matches;

/// Finds mistakes that the schema of scenarios does not catch. `text` is the text that `root` was
/// parsed from, and `attachments` are the rows of the files that the scenario names.
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
        if let Some(direct) = direct_of(request) {
            self::request(&direct.value, problems);
            sources.request(&direct.value, problems);
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

/// Checks the parity cases in `part` against the routes of `root`.
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

/// Returns the routes and cases that apply after `configure`.
fn changed(root: &Node, later: &Node) -> Node {
    let new: Vec<Option<&str>> = later.list("routes").iter().map(name).collect();
    let kept = root.list("routes").iter();
    let kept = kept.filter(|it| !new.contains(&name(it)));
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

fn name(route: &Node) -> Option<&str> {
    route.text_of("name")
}

fn weights(root: &Node, problems: &mut Vec<Problem>) {
    let targets = root.get("targets").and_then(Node::number).unwrap_or(1.0);
    for list in root.list("weights") {
        let count = list.items().len();
        if count as f64 != targets {
            let message = format!("there are {count} weights for {targets} targets");
            let help = "write one for each target, or another number under `targets:`";
            problems.push(Problem::new(list.head(), message, help));
        }
    }
    if let Some(entry) = root.entry("weights")
        && targets < 2.0
    {
        let help = "write how many processes the upstream has, as in `targets: 3`";
        problems.push(entry.problem("with one target, weights have no effect", help));
    }
}

fn upstreams(root: &Node, problems: &mut Vec<Problem>) {
    let routes = root.list("routes").len();
    if let Some(node) = root.get("upstreams")
        && let Some(count) = node.number()
        && count > routes as f64
    {
        let message = format!(
            "{count} upstreams need at least as many routes, but the scenario has {routes}"
        );
        let help = "add routes, because each route leads to only one upstream";
        problems.push(node.problem(message, help));
    }
}

/// Requires whole seconds between fetches, because fetches are recorded by second.
fn scrapes(root: &Node, problems: &mut Vec<Problem>) {
    let every = root.at(&["metrics", "scrape_every"]);
    if let Some((node, span)) = every.zip(span(every))
        && (span.as_nanos() == 0 || span.as_nanos() % 1_000_000_000 != 0)
    {
        let message = format!("metrics cannot be fetched every {span}");
        problems.push(node.problem(message, "write whole seconds, as in 1s"));
    }
}

/// Requires TLS for HTTP/2, because browsers and some gateways support HTTP/2 only over TLS.
fn transport(root: &Node, problems: &mut Vec<Problem>) {
    let Some(transport) = root.get("transport") else {
        return;
    };
    let is_secure = transport.get("tls").and_then(Node::flag) == Some(true);
    if let Some(entry) = transport.entry("http2_streams").filter(|_| !is_secure) {
        let message = "HTTP/2 is negotiated through TLS, which `transport` does not request";
        problems.push(entry.problem(message, "add `tls: true`"));
    }
}

fn names(root: &Node, problems: &mut Vec<Problem>) {
    let mut each = |list: &str, key: &str, what: &str, help: &str| {
        let texts = root.list(list).iter().filter_map(|item| item.get(key));
        unique(texts, what, help, problems);
    };
    for (list, item) in [
        ("routes", "route"),
        ("consumers", "consumer"),
        ("groups", "group"),
    ] {
        each(
            list,
            "name",
            list,
            &format!("give each {item} a unique name"),
        );
    }
    let help = "give each case a name that states what only this case tests";
    each("parity", "name", "parity cases", help);
    let help = "give each route a unique path";
    each("routes", "path", "route paths", help);
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
        let help = "write the path out; `{{ index }}` is allowed only with `repeat:`";
        problems.push(path.problem("the path of a route cannot be a template", help));
    } else if text.contains('?') {
        let help = "end the prefix before the `?`";
        problems.push(path.problem("a route cannot have a query", help));
    } else if !bare.is_empty() && bare != text {
        let message = format!("gateways differ in whether the route `{text}` matches `{bare}`");
        let help = format!("write `{bare}`, which matches everything below it");
        problems.push(path.problem(message, help));
    }
}

fn consumers(root: &Node, problems: &mut Vec<Problem>) {
    let consumers = || root.list("consumers").iter();
    let keys = || consumers().flat_map(|consumer| consumer.list("keys"));
    unique(keys(), "keys", "give each consumer its own keys", problems);
    for key in keys() {
        let text = key.text();
        if text == Some("") {
            let help = "write a key, or remove it";
            problems.push(key.problem("a key is empty", help));
        } else if text.is_some_and(|text| !text.bytes().all(|byte| byte.is_ascii_graphic())) {
            let message = "a key contains a space or a character outside ASCII, which gateways treat differently";
            let help = "use ASCII letters, digits and punctuation, without spaces";
            problems.push(key.problem(message, help));
        }
    }
}

fn request(request: &Node, problems: &mut Vec<Problem>) {
    http::request_headers(request, problems);
    one_body(request, problems);
    direct_differs(request, problems);
    for check in request.list("checks") {
        if let Some(value) = check.at(&["header", "equals"]) {
            http::field_value(value, problems);
        }
    }
}

/// Reports a request with both `body` and `body_file`. A body that was read from `body_file` has
/// the position of its path, and is not reported.
fn one_body(request: &Node, problems: &mut Vec<Problem>) {
    if let (Some(body), Some(file)) = (request.get("body"), request.entry("body_file"))
        && body.span != file.value.span
    {
        let message = "`body` and `body_file` are mutually exclusive";
        problems.push(file.problem(message, "keep one of them"));
    }
}

fn weight_of_one(request: &Node, problems: &mut Vec<Problem>) {
    if let Some(weight) = request.entry("weight") {
        let message = "a parity case is sent once, regardless of its weight";
        problems.push(weight.problem(message, "remove it"));
    }
}

/// Reports an empty direct request, which is the same as the gateway's.
fn direct_differs(request: &Node, problems: &mut Vec<Problem>) {
    if let Some(direct) = direct_of(request)
        && direct.value.entries().is_empty()
    {
        let message = format!("`{}` changes nothing", direct.key);
        problems.push(direct.problem(message, "remove it"));
    }
}

/// Returns the direct request, which earlier files call `floor`.
fn direct_of(request: &Node) -> Option<&Entry> {
    request.entry("direct").or_else(|| request.entry("floor"))
}

/// Reports whether a path begins with a prefix that ends in the middle of one of its segments.
fn splits(prefix: &str, path: &str) -> bool {
    prefix.starts_with('/') && path.starts_with(prefix) && !path_matches(prefix, path)
}

fn is_refused(case: &Node) -> bool {
    case.get("reaches_upstream").and_then(Node::flag) == Some(false)
}

/// Reports a path that continues a route's prefix within a segment, such as `/jsonx` for `/json`,
/// because gateways differ in whether the route matches. Gateway folders must ensure that it does
/// not match. A parity case with `reaches_upstream: false` may prove this, but no other request may
/// depend on it.
fn splits_a_segment(root: &Node, request: &Node, problems: &mut Vec<Problem>) {
    let Some(node) = request.get("path") else {
        return;
    };
    let Some(path) = node.text() else { return };
    let mut prefixes = prefixes(root);
    // The longest prefix wins, so there is no ambiguity if a longer prefix matches the path.
    let holding = prefixes.clone().filter(|prefix| path_matches(prefix, path));
    let longest = holding.map(str::len).max().unwrap_or(0);
    let in_doubt = |prefix: &&str| splits(prefix, path) && prefix.len() > longest;
    if let Some(prefix) = prefixes.find(in_doubt) {
        let message = format!("gateways differ in whether `{path}` is under the route `{prefix}`");
        let help = format!("write `{prefix}/...`, or a path that does not begin with `{prefix}`");
        problems.push(node.problem(message, help));
    }
}

fn prefixes(root: &Node) -> impl Iterator<Item = &str> + Clone {
    let routes = root.list("routes").iter();
    routes.filter_map(|route| route.text_of("path"))
}

/// Returns the route of a request, which is the one with the longest prefix. Returns `Err` if a
/// mistake in the routes or in the path makes the route uncertain.
fn route_of<'n>(root: &'n Node, request: &Node) -> Result<Option<&'n Node>, ()> {
    let path = request.text_of("path").ok_or(())?;
    let mut best: Option<(&str, &Node)> = None;
    for route in root.list("routes") {
        let prefix = route.text_of("path").ok_or(())?;
        if !prefix.starts_with('/') {
            return Err(());
        }
        if path_matches(prefix, path)
            && best.is_none_or(|(longest, _)| prefix.len() > longest.len())
        {
            best = Some((prefix, route));
        }
    }
    let longest = best.map_or(0, |(prefix, _)| prefix.len());
    let is_in_doubt = prefixes(root).any(|prefix| splits(prefix, path) && prefix.len() > longest);
    let is_known = path.starts_with('/') && !root.list("routes").is_empty();
    if is_in_doubt || !is_known {
        return Err(());
    }
    Ok(best.map(|(_, route)| route))
}

fn reaches_a_route(root: &Node, request: &Node, problems: &mut Vec<Problem>) {
    if let Ok(None) = route_of(root, request)
        && let Some(path) = request.get("path")
    {
        let prefixes = listed(prefixes(root), "or");
        let help = format!("begin it with the path of a route: {prefixes}");
        let message = format!("no route matches `{}`", path.text().unwrap_or_default());
        problems.push(path.problem(message, help));
    }
}

/// Checks that a case with `reaches_upstream: true` can reach the upstream, and that a case counts
/// the bytes of a body only before the load.
fn parity(root: &Node, case: &Node, request: &Node, problems: &mut Vec<Problem>) {
    if let Some(bytes) = case.entry("upstream_body_bytes")
        && case.text_of("when") != Some("before")
    {
        let message = "late requests of the load would change the number of bytes";
        problems.push(bytes.problem(message, "add `when: before` to the case"));
    }
    let reaches = case.entry("reaches_upstream");
    let Some(reaches) = reaches.filter(|it| it.value.flag() == Some(true)) else {
        return;
    };
    reaches_a_route(root, request, problems);
    let is_mock = |policy: &Node| policy.get("mock").is_some();
    if let Ok(Some(route)) = route_of(root, request)
        && route.list("policies").iter().any(is_mock)
    {
        let help = "write `reaches_upstream: false`, or remove `mock` from the route";
        let message = "this request cannot reach the upstream: the route's `mock` responds to it";
        problems.push(reaches.value.problem(message, help));
    }
}
