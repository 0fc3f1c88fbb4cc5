//! Converts security schemes to policies, and creates a consumer whose credentials satisfy them.

use gatebench_config::{Entry, Node};
use gatebench_model::policy::{ApiKeyPolicy, ApiKeyQueryPolicy, BasicAuthPolicy};
use gatebench_model::{Consumer, Policy};
use serde_json::{Value, json};

use super::resolve::Document;
use crate::log::Log;

/// The name of the consumer that an import creates, because a document describes no consumers.
const CONSUMER: &str = "someone";

/// Returns the policies for the document's global security, the consumers whose credentials satisfy
/// these policies, and the schemes that have no policy.
pub(super) fn read(
    document: &Document,
    root: &Node,
    log: &mut Log<'_>,
) -> (Vec<Policy>, Vec<Consumer>, Vec<String>) {
    note_operations(document, root, log);
    let mut policies = Vec::new();
    let mut not_understood = Vec::new();
    // The items of `security` are alternatives, so it suffices to satisfy the first one.
    let required = document.root.pointer("/security/0");
    let required = required.and_then(Value::as_object);
    for (name, _) in required.into_iter().flatten() {
        let scheme = document.at(&["components", "securitySchemes", name]);
        let word = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
        let carrier = word("name").to_owned();
        match (word("type"), word("in"), word("scheme")) {
            ("apiKey", "header", _) => {
                policies.push(Policy::ApiKey(ApiKeyPolicy { header: carrier }))
            }
            ("apiKey", "query", _) => {
                policies.push(Policy::ApiKeyQuery(ApiKeyQueryPolicy { name: carrier }))
            }
            ("http", _, "basic") => policies.push(Policy::BasicAuth(BasicAuthPolicy {
                realm: "api".into(),
            })),
            _ => {
                let entry = root.entry("security");
                let span = entry.map_or(root.head(), |it| it.key_span.clone());
                let what = format!("the security scheme {name}");
                not_understood.push(log.not_understood(&span, what));
            }
        }
    }
    let consumers = match policies.is_empty() {
        true => Vec::new(),
        false => vec![Consumer {
            name: CONSUMER.into(),
            keys: vec!["a-key-for-the-measurement".into()],
            password: Some("a-password-for-the-measurement".into()),
        }],
    };
    (policies, consumers, not_understood)
}

/// Notes the operations whose own security is ignored, because all requests use the document's.
fn note_operations(document: &Document, root: &Node, log: &mut Log<'_>) {
    let none = json!([]);
    let global = document.root.get("security");
    let effect = match global {
        Some(_) => "all requests use the `security` of the document",
        None => "the document has no `security`, so requests have no credentials",
    };
    let global = global.unwrap_or(&none);
    let operations = root
        .mapping("paths")
        .iter()
        .flat_map(|path| path.value.entries());
    let entries = operations.filter_map(|operation| operation.value.entry("security"));
    let differs = |entry: &&Entry| entry.value.to_json() != *global;
    let all: Vec<&Entry> = entries.filter(differs).collect();
    if let Some(first) = all.first() {
        let count = all.len();
        let what = format!("the security of individual operations ({count} in all): {effect}");
        log.simplified(&first.key_span, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_of_single_operations_is_noted() {
        let notes = |text: &str| {
            let root = gatebench_config::read_tree("x", text).unwrap();
            let document = Document {
                root: root.to_json(),
            };
            let mut log = Log::new("x", text);
            note_operations(&document, &root, &mut log);
            let notes = log.notes.iter().map(ToString::to_string);
            Vec::from_iter(notes)
        };
        let text = "security: [{a: []}]\npaths:\n  /a:\n    get:\n      security: [{a: []}]\n    \
                    put:\n      security: []\n    post:\n      security: [{b: []}]\n";
        let expected = "line 7: the security of individual operations (2 in all): all requests use the \
                        `security` of the document";
        assert_eq!(notes(text), [expected]);
        let text = "paths:\n  /a:\n    get:\n      security: []\n";
        assert!(notes(text).is_empty());
        let text = format!("{text}    put:\n      security: [{{a: []}}]\n");
        let expected = "line 6: the security of individual operations (1 in all): the document has no \
                        `security`, so requests have no credentials";
        assert_eq!(notes(&text), [expected]);
    }
}
