//! Finds the routes of a listener that lead to a cluster.

use gatebench_config::Node;

use crate::wire::scenario::Hint;
use crate::wire::tree::mappings;

/// Returns a [`Hint`] for each route that leads to a cluster, unless the route has conditions on
/// headers, query parameters or gRPC, or no path can be generated for it.
pub(super) fn hints(listener: Option<&Node>) -> Vec<Hint> {
    let nodes = listener.into_iter().flat_map(mappings);
    let mut hints = Vec::new();
    for host in nodes.flat_map(|it| it.list("virtual_hosts")) {
        let domains: Vec<&str> = host.list("domains").iter().filter_map(Node::text).collect();
        let is_open = domains.contains(&"*");
        let name = domains.first().filter(|_| !is_open);
        let name = name.map(|it| it.replace('*', "a"));
        let routes = host.list("routes").iter();
        hints.extend(routes.filter_map(|route| hint(route, name.clone())));
    }
    hints
}

fn hint(route: &Node, host: Option<String>) -> Option<Hint> {
    let action = route.get("route")?;
    let leads = ["cluster", "weighted_clusters", "cluster_header"];
    if !leads.iter().any(|key| action.get(key).is_some()) {
        return None;
    }
    let condition = route.get("match")?;
    // A path is not enough to match a route with other conditions.
    let others = ["headers", "query_parameters", "grpc"];
    if others.iter().any(|key| condition.get(key).is_some()) {
        return None;
    }
    let text = |key: &&str| condition.get(key).and_then(Node::text);
    let mut literal = ["prefix", "path", "path_separated_prefix"].iter();
    match literal.find_map(text) {
        Some(path) => Some(Hint::prefix(host, path)),
        None => Hint::expression(host, condition.at(&["safe_regex", "regex"])?.text()?),
    }
}
