//! Rules of what is done through an admin interface.

use gatebench_config::{Node, Problem};

use super::not_zero;
use crate::route::path_matches;

/// The paths of the route differ from each other and from those of routes that are there: else nothing could be seen
/// of whether it acts.
pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let Some(admin) = root.get("admin") else {
        return;
    };
    let help = "give it some time, as in 250ms";
    not_zero(admin, "under_load_every", help, problems);
    let created = admin.get("route").and_then(|route| route.get("path"));
    let updated = admin.get("updated_path");
    for node in [created, updated].into_iter().flatten() {
        let path = node.text().unwrap_or_default();
        let mut prefixes = root.list("routes").iter();
        let taken = prefixes.find_map(|route| {
            let prefix = route.get("path")?.text()?;
            (path_matches(prefix, path) || path_matches(path, prefix)).then_some(prefix)
        });
        if let Some(prefix) = taken {
            let message = format!("`{path}` and the route `{prefix}` lie one below the other");
            let help = "write a path that no other route has a part of";
            problems.push(Problem::new(node.span.clone(), message, help));
        }
    }
    if let (Some(created), Some(updated)) = (created, updated)
        && created.text() == updated.text()
    {
        let message = "the update changes nothing";
        let help = "write another path than the route's";
        problems.push(Problem::new(updated.span.clone(), message, help));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use crate::Scenario;

    #[test]
    fn whether_the_route_acts_can_be_seen() {
        let text = |created: &str, updated: &str| {
            format!(
                "{{scenario: s, title: t, upstream: ping, routes: [{{name: r, path: /ping}}], requests: [{{path: /ping}}], \
                 admin: {{rounds: 1, route: {{name: a, path: {created}}}, updated_path: {updated}, ask: /ping}}}}"
            )
        };
        assert!(parse::<Scenario>("s.yaml", &text("/a", "/b")).is_ok());
        let at_once = text("/a", "/b, under_load_every: 0s");
        assert!(parse::<Scenario>("s.yaml", &at_once).is_err());
        for (created, updated) in [("/ping/x", "/b"), ("/a", "/ping"), ("/a", "/a")] {
            let told = parse::<Scenario>("s.yaml", &text(created, updated)).unwrap_err();
            assert_eq!(told.all().len(), 1, "{created} {updated}");
        }
    }
}
