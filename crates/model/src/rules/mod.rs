//! Rules that a schema cannot express. They check the tree, not the types, so they also apply to a
//! file that violates its schema. They ignore such violations, which have already been reported.

mod admin;
mod data;
pub(crate) mod gateway;
mod groups;
mod http;
pub(crate) mod load;
mod policies;
pub(crate) mod published;
pub(crate) mod scenario;
mod soap;
pub(crate) mod specification;
pub(crate) mod suite;
mod template;

use std::collections::HashSet;

use gatebench_config::{HumanDuration, Node, Problem};

/// Reports duplicate strings; `what` names them in the plural.
fn unique<'n>(
    nodes: impl IntoIterator<Item = &'n Node>,
    what: &str,
    help: &str,
    problems: &mut Vec<Problem>,
) {
    let mut seen: HashSet<&str> = HashSet::new();
    for node in nodes {
        let Some(text) = node.text() else { continue };
        if !seen.insert(text) {
            problems.push(node.problem(format!("the {what} contain `{text}` twice"), help));
        }
    }
}

fn span(node: Option<&Node>) -> Option<HumanDuration> {
    node?.text()?.parse().ok()
}

/// Reports a duration of zero. The remedy ends with `example`.
fn not_zero(parent: &Node, key: &str, example: &str, problems: &mut Vec<Problem>) {
    let Some(node) = parent.get(key) else { return };
    if span(Some(node)).is_some_and(|span| span.is_zero()) {
        let help = format!("write a duration above 0, as in {example}");
        problems.push(node.problem(format!("`{key}` is zero"), help));
    }
}

/// Reports a maximum below its minimum.
fn in_order(
    of: &Node,
    value: fn(&Node) -> Option<f64>,
    message: &str,
    problems: &mut Vec<Problem>,
) {
    if let (Some(min), Some(max)) = (of.get("min"), of.get("max"))
        && let (Some(least), Some(most)) = (value(min), value(max))
        && most < least
    {
        problems.push(max.problem(message, "swap `min` and `max`"));
    }
}
