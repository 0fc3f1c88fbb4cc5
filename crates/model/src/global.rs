//! Copies a scenario's `global_policies` to the beginning of each route's chain.

use std::ops::Range;

use gatebench_config::{Data, Entry, Node};

const KEY: &str = "global_policies";

/// Copies the global policies into the routes. Returns their positions in the text, so that a
/// mistake in all copies can be reported once.
pub(crate) fn expand(root: &mut Node) -> Vec<Range<usize>> {
    let policies = root.list(KEY).to_vec();
    for route in root.list_mut("routes") {
        prepend(route, &policies);
    }
    if let Some(later) = root.get_mut("later") {
        for route in later.list_mut("routes") {
            prepend(route, &policies);
        }
    }
    policies.into_iter().map(|policy| policy.span).collect()
}

fn prepend(route: &mut Node, policies: &[Node]) {
    if route.get("policies").is_none() && !policies.is_empty() {
        let span = route.span.clone();
        route.push(Entry {
            key: "policies".into(),
            key_span: span.clone(),
            value: Node {
                data: Data::List(Vec::new()),
                span,
            },
        });
    }
    if let Some(Data::List(own)) = route.get_mut("policies").map(|it| &mut it.data) {
        own.splice(0..0, policies.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use gatebench_config::parse;

    #[test]
    fn every_chain_begins_with_the_global_policies() {
        let text = "scenario: s\ntitle: t\nupstream: httpbin\n\
                    consumers: [{name: alice, password: secret-1}]\n\
                    global_policies: [{request_size_limit: {max_bytes: 1}}]\n\
                    routes:\n- {name: a, path: /a}\n\
                    - {name: b, path: /b, policies: [{basic_auth: {}}]}\n\
                    requests: [{path: /a}]\n";
        let scenario: Scenario = parse("s.yaml", text).unwrap();
        let kinds = scenario.routes.iter().map(|route| {
            let kinds = route.policies.iter().map(crate::Policy::kind);
            kinds.collect::<Vec<_>>()
        });
        let kinds: Vec<_> = kinds.collect();
        assert_eq!(kinds[0], ["request_size_limit"]);
        assert_eq!(kinds[1], ["request_size_limit", "basic_auth"]);
    }
}
