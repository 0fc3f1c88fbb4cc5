//! apisix.yaml.

use std::collections::BTreeMap;

use gatebench_config::{Data, Node, read_tree};

use super::edits::Edits;
use super::tree::each_mapping;
use super::{Language, OwnConfig, TARGET_HOST, TARGET_PORT, scenario};
use crate::error::ImportError;
use crate::log::Log;

const UPSTREAM: &str = "the upstream here is gatebench's";
const PLAIN: &str = "the upstream here speaks HTTP without TLS";

/// The line that marks a file as complete for APISIX.
const END: &str = "#END";

pub(super) fn wire(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    let mut log = Log::new(file, text);
    let api = crate::apisix::read(text, file, &mut log)?;
    log.finish()?;
    let mut edits = Edits::new(file, text);
    each_mapping(&root, &mut |node| {
        if let Some(nodes) = node.get("nodes") {
            edits.replace(&nodes.span, same_weights(nodes), UPSTREAM);
            let scheme = node.get("scheme").filter(|it| it.text() == Some("https"));
            if let Some(scheme) = scheme {
                edits.replace(&scheme.span, "http", PLAIN);
            }
        }
    });
    let has_end = text.lines().any(|line| line.trim_end() == END);
    let (text, changes) = edits.finish();
    Ok(OwnConfig {
        language: Language::Apisix,
        text: if has_end {
            text
        } else {
            format!("{text}\n{END}\n")
        },
        changes,
        environment: BTreeMap::new(),
        has_tls: api.has_tls,
        scenario: scenario::of_api(file, &api),
    })
}

/// Returns the same number of nodes with the same weights, each with the address of the upstream.
fn same_weights(nodes: &Node) -> String {
    let weights: Vec<i64> = match &nodes.data {
        Data::Map(entries) => entries
            .iter()
            .filter_map(|it| it.value.number())
            .map(|it| it as i64)
            .collect(),
        _ => {
            let weight = |it: &Node| it.get("weight").and_then(Node::number).unwrap_or(1.0) as i64;
            nodes.items().iter().map(weight).collect()
        }
    };
    let node = |weight: &i64| {
        format!("{{\"host\": \"{TARGET_HOST}\", \"port\": {TARGET_PORT}, \"weight\": {weight}}}")
    };
    let all: Vec<String> = weights.iter().map(node).collect();
    format!("[{}]", all.join(", "))
}
