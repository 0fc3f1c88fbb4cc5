//! Rules for suites.

use gatebench_config::{Node, Problem};

use super::unique;
use crate::label::is_direct;

pub(crate) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let again = "name it once; to compare a gateway with itself, use `gatebench ab`";
    unique(root.list("gateways"), "gateways", again, problems);
    let names = root.list("scenarios").iter().filter_map(name);
    unique(names, "scenarios", "name it once", problems);
    for gateway in root.list("gateways") {
        if let Some(name) = gateway.text().filter(|it| is_direct(it)) {
            let help = "remove it, and write `direct: true`";
            problems.push(gateway.problem(format!("`{name}` is not a gateway"), help));
        }
    }
    loads_of_scenarios(root, problems);
    loads_of_sizes(root, problems);
}

/// Returns the node that contains a scenario's name: the value of the key `scenario` or, without
/// this key, the entry itself.
fn name(scenario: &Node) -> Option<&Node> {
    scenario.get("scenario").or(Some(scenario))
}

/// Reports the published load of a scenario if the suite has no `as_published`, because no run
/// would use that load. Also reports a scenario that is a mapping without a load.
fn loads_of_scenarios(root: &Node, problems: &mut Vec<Problem>) {
    for scenario in root.list("scenarios") {
        let own = scenario.entry("as_published");
        if let Some(own) = own.filter(|_| root.get("as_published").is_none()) {
            let message = "a scenario has a published load, but the suite has none";
            let help = "add `as_published: {load: NAME, blocks: 1}` to the suite";
            problems.push(own.problem(message, help));
        }
        let is_plain =
            scenario.get("scenario").is_some() && own.is_none() && scenario.get("load").is_none();
        if is_plain {
            let message = "this scenario is a mapping, but has no load";
            let help = "write its name alone, or add `load:` or `as_published:`";
            problems.push(Problem::new(scenario.head(), message, help));
        }
    }
}

/// Checks that the suite's sizes are unique, that each published load for a single size names one
/// of them, and that each size has at most one such load. The scenarios that these loads name must
/// be scenarios of the suite.
fn loads_of_sizes(root: &Node, problems: &mut Vec<Problem>) {
    let once = "name each size once";
    let sizes: Vec<f64> = numbers(root.list("cpus").iter(), "sizes contain", once, problems);
    let Some(published) = root.get("as_published") else {
        return;
    };
    let loads = published.list("of_cpus").iter();
    let cpus = loads.clone().filter_map(|load| load.get("cpus"));
    numbers(cpus.clone(), "loads contain the size", once, problems);
    for load in cpus {
        let Some(cpus) = load.number().filter(|cpus| !sizes.contains(cpus)) else {
            continue;
        };
        let message = format!("the suite's `cpus` do not include {cpus}");
        problems.push(load.problem(message, "add it to `cpus`, or remove its load"));
    }
    let own = loads.filter_map(|load| load.get("of_scenarios"));
    for entry in own.flat_map(Node::entries) {
        let mut names = root.list("scenarios").iter().filter_map(name);
        if !names.any(|it| it.text() == Some(entry.key.as_str())) {
            let message = format!("the suite has no scenario `{}`", entry.key);
            let help = "name one of its `scenarios`, or remove its load";
            problems.push(entry.problem(message, help));
        }
    }
}

fn numbers<'n>(
    nodes: impl Iterator<Item = &'n Node>,
    what: &str,
    help: &str,
    problems: &mut Vec<Problem>,
) -> Vec<f64> {
    let mut seen: Vec<f64> = Vec::new();
    for node in nodes {
        let Some(number) = node.number() else {
            continue;
        };
        if seen.contains(&number) {
            let message = format!("the {what} {number} twice");
            problems.push(node.problem(message, help));
        }
        seen.push(number);
    }
    seen
}
