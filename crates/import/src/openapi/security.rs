//! Converts security schemes to policies, and creates a consumer whose credentials satisfy them.

use gatebench_config::Node;
use gatebench_model::policy::{ApiKeyPolicy, ApiKeyQueryPolicy, BasicAuthPolicy};
use gatebench_model::{Consumer, Policy};
use serde_json::Value;

use super::resolve::Document;
use crate::log::Log;

/// The name of the consumer that an import creates. A document describes no consumers.
const CONSUMER: &str = "someone";

/// Returns the policies for the document's global security, the consumers whose credentials satisfy
/// these policies, and the schemes that have no policy.
pub(super) fn read(
    document: &Document,
    root: &Node,
    log: &mut Log<'_>,
) -> (Vec<Policy>, Vec<Consumer>, Vec<String>) {
    let mut policies = Vec::new();
    let mut not_understood = Vec::new();
    // The items of `security` are alternatives, and a request passes if it satisfies the first one.
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
