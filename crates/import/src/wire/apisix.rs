//! Adapts apisix.yaml to a trial.

use std::collections::BTreeMap;

use gatebench_config::{Node, read_tree};

use super::edits::Edits;
use super::tree::mappings;
use super::{Language, OwnConfig, PLAIN, TARGET_HOST, TARGET_PORT, UPSTREAM, scenario};
use crate::error::ImportError;
use crate::log::Log;

/// The line that marks a file as complete for APISIX.
const END: &str = "#END";

pub(super) fn wire(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    let mut log = Log::new(file, text);
    let api = crate::apisix::read(text, file, &mut log)?;
    log.finish()?;
    let mut edits = Edits::new(file, text);
    for node in mappings(&root) {
        if let Some(nodes) = node.get("nodes") {
            edits.replace(&nodes.span, same_weights(nodes), UPSTREAM);
            let scheme = node.get("scheme").filter(|it| it.text() == Some("https"));
            if let Some(scheme) = scheme {
                edits.replace(&scheme.span, "http", PLAIN);
            }
        }
    }
    let has_end = text.lines().any(|line| line.trim_end() == END);
    let (text, changes) = edits.finish();
    Ok(OwnConfig {
        language: Language::Apisix,
        text: match has_end {
            true => text,
            false => format!("{text}\n{END}\n"),
        },
        changes,
        environment: BTreeMap::new(),
        has_tls: api.has_tls,
        scenario: scenario::of_api(file, &api),
    })
}

/// Returns nodes with the same weights but the address of gatebench's upstream.
fn same_weights(nodes: &Node) -> String {
    let of_entries = nodes.entries().iter().filter_map(|it| it.value.number());
    let weight = |it: &Node| it.get("weight").and_then(Node::number).unwrap_or(1.0);
    let weights = of_entries.chain(nodes.items().iter().map(weight));
    let node = |weight: f64| {
        let weight = weight as i64;
        format!("{{\"host\": \"{TARGET_HOST}\", \"port\": {TARGET_PORT}, \"weight\": {weight}}}")
    };
    let all: Vec<String> = weights.map(node).collect();
    format!("[{}]", all.join(", "))
}
