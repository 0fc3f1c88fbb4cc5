//! Converts gateway folders of contract 1 to contract 2. Each value keeps its position in the text.

use gatebench_config::{Data, Entry, Node};

use crate::load::{CONFIGURE, WEIGHTS};
use crate::needs::ACCESS_LOG;
use crate::policy::SAXON;

/// Merges the seven keys in which contract 1 stated features into the key `features` of contract 2.
/// A feature that was stated twice remains duplicated, and the rules report it.
pub(crate) fn upgrade(root: &mut Node) {
    match root.get_mut("contract").map(|node| &mut node.data) {
        Some(Data::Integer(version @ 1)) => *version = 2,
        _ => return,
    }
    let start = root.head();
    let mut features = claims(root);
    for (list, statement) in [("transport", "native"), ("unused", "unused")] {
        for node in items_of(root.take(list)) {
            let word = node.text().unwrap_or_default();
            features.push(Entry::new(word, &node.span, Data::Text(statement.into())));
        }
    }
    if let Some(means) = root.take("failover") {
        features.push(Entry::new("failover", &means.span, means.data));
    }
    for reason in entries_of(root.take("without")) {
        let place = reason.value.span;
        let value = Data::Map(vec![Entry::new("unsupported", &place, reason.value.data)]);
        features.push(Entry::new(&reason.key, &reason.key_span, value));
    }
    let lacks = items_of(root.take("lacks"));
    if root.get(ACCESS_LOG).is_none() && lacks.iter().all(|it| it.text() != Some(ACCESS_LOG)) {
        features.push(Entry::new(ACCESS_LOG, &start, Data::Text("native".into())));
    }
    let actions = root.get("actions");
    for action in [CONFIGURE, WEIGHTS] {
        let is_stated = features.iter().any(|it| it.key == action);
        if !is_stated && actions.is_some_and(|it| it.get(action).is_none()) {
            features.push(Entry::new(action, &start, Data::Text("unused".into())));
        }
    }
    root.push(Entry::new("features", &start, Data::Map(features)));
}

/// Returns the stated policies, and Saxon if it is among the extras, as features. Each feature
/// states its missing parts and the extra that it needs, if there are any.
fn claims(root: &mut Node) -> Vec<Entry> {
    let extras = entries_of(root.take("extras"));
    let mut claims = entries_of(root.take("policies"));
    let saxon = extras.iter().filter(|it| it.key == SAXON);
    claims.extend(saxon.map(|it| Entry::new(SAXON, &it.key_span, Data::Text("native".into()))));
    for claim in &mut claims {
        let Some(word) = claim.value.text() else {
            continue;
        };
        let place = &claim.value.span;
        let mut explained = vec![Entry::new(word, place, Data::Text(String::new()))];
        let part_of = |it: &Node| {
            let part = it.text()?.strip_prefix(&claim.key)?.strip_prefix('.')?;
            Some(Node::new(&it.span, Data::Text(part.to_owned())))
        };
        let parts: Vec<Node> = root.list("lacks").iter().filter_map(part_of).collect();
        if !parts.is_empty() {
            explained.push(Entry::new("without", place, Data::List(parts)));
        }
        let needs = extras.iter().find(|it| it.key == claim.key);
        explained.extend(needs.map(|it| Entry::new("needs", &it.key_span, it.value.data.clone())));
        if explained.len() > 1 {
            claim.value.data = Data::Map(explained);
        }
    }
    claims
}

fn entries_of(node: Option<Node>) -> Vec<Entry> {
    match node.map(|node| node.data) {
        Some(Data::Map(entries)) => entries,
        _ => Vec::new(),
    }
}

fn items_of(node: Option<Node>) -> Vec<Node> {
    match node.map(|node| node.data) {
        Some(Data::List(items)) => items,
        _ => Vec::new(),
    }
}
