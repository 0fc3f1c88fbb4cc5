//! Rules that a schema cannot say. They look at the tree, not at the types, so that a file with a
//! mistake elsewhere still gets all of them; what has the wrong form was reported and is passed over.

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

use std::collections::HashMap;
use std::ops::Range;

use gatebench_config::{HumanDuration, Node, Problem};

/// Reports texts that occur again; `what` names them in the plural.
fn unique<'n>(
    nodes: impl IntoIterator<Item = &'n Node>,
    what: &str,
    help: &str,
    problems: &mut Vec<Problem>,
) {
    let mut seen: HashMap<&str, Range<usize>> = HashMap::new();
    for node in nodes {
        let Some(text) = node.text() else { continue };
        if seen.insert(text, node.span.clone()).is_some() {
            problems.push(Problem::new(
                node.span.clone(),
                format!("two {what} are `{text}`"),
                help,
            ));
        }
    }
}

/// Reports a duration of zero.
fn not_zero(parent: &Node, key: &str, help: &str, problems: &mut Vec<Problem>) {
    let Some(node) = parent.get(key) else { return };
    let span = node
        .text()
        .and_then(|text| text.parse::<HumanDuration>().ok());
    if span.is_some_and(|span| span.as_nanos() == 0) {
        problems.push(Problem::new(
            node.span.clone(),
            format!("`{key}` is zero"),
            help,
        ));
    }
}
