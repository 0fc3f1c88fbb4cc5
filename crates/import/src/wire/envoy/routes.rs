//! The routes of a listener that lead to a cluster.

use gatebench_config::Node;

use crate::regex_sample;
use crate::wire::scenario::Hint;
use crate::wire::tree::each_mapping;

/// The hints for requests.
pub(super) fn hints(listener: Option<&Node>) -> Vec<Hint> {
    let mut hints = Vec::new();
    let Some(listener) = listener else {
        return hints;
    };
    each_mapping(listener, &mut |node| {
        for host in node.list("virtual_hosts") {
            let name = host
                .list("domains")
                .iter()
                .filter_map(Node::text)
                .find(|it| *it != "*");
            let is_open = host.list("domains").iter().any(|it| it.text() == Some("*"));
            let name = name.filter(|_| !is_open).map(|it| it.replace('*', "a"));
            hints.extend(
                host.list("routes")
                    .iter()
                    .filter_map(|route| hint(route, name.clone())),
            );
        }
    });
    hints
}

fn hint(route: &Node, host: Option<String>) -> Option<Hint> {
    let action = route.get("route")?;
    let leads = ["cluster", "weighted_clusters", "cluster_header"];
    if !leads.iter().any(|key| action.get(key).is_some()) {
        return None;
    }
    let condition = route.get("match")?;
    // A route by headers needs more than a path.
    if condition.get("headers").is_some() || condition.get("grpc").is_some() {
        return None;
    }
    let text = |key: &str| condition.get(key).and_then(Node::text);
    if let Some(path) = text("prefix")
        .or(text("path"))
        .or(text("path_separated_prefix"))
    {
        return Some(Hint::prefix(host, path));
    }
    let expression = condition.get("safe_regex")?.get("regex")?.text()?;
    Some(Hint {
        host,
        prefix: regex_sample::literal_prefix(expression),
        sample: regex_sample::sample(expression).filter(|it| it.starts_with('/'))?,
    })
}
