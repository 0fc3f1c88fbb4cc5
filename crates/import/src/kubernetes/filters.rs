//! Converts a rule's filters to policies.

use std::collections::BTreeMap;

use gatebench_config::Node;
use gatebench_model::Policy;
use gatebench_model::policy::HeaderEdits;

use crate::keys::Keys;
use crate::log::Log;

#[derive(Default)]
pub(super) struct Effects {
    pub(super) policies: Vec<Policy>,
    pub(super) strips_path: bool,
    pub(super) not_understood: Vec<String>,
}

impl Effects {
    pub(super) fn of(filters: &[Node], log: &mut Log<'_>) -> Self {
        let mut effects = Self::default();
        for filter in filters {
            effects.add(filter, log);
        }
        effects
    }

    fn add(&mut self, node: &Node, log: &mut Log<'_>) {
        let mut keys = Keys::of(node, "the filter", log);
        let kind = keys.required("type", log).unwrap_or_default();
        let mut edits = |key: &str| Some(header_edits(keys.keys(key, log)?, log));
        let understood = match kind.as_str() {
            "RequestHeaderModifier" => {
                let edits = edits("requestHeaderModifier");
                self.policies.extend(edits.map(Policy::RequestHeaders));
                true
            }
            "ResponseHeaderModifier" => {
                let edits = edits("responseHeaderModifier");
                self.policies.extend(edits.map(Policy::ResponseHeaders));
                true
            }
            "URLRewrite" => self.rewrite(node),
            _ => false,
        };
        if !understood {
            let words = log.not_understood(&node.head(), format!("the filter {kind}"));
            self.not_understood.push(words);
        }
    }

    /// Records the removal of the prefix if the rewrite removes it. Returns true if the rewrite
    /// removes the prefix and does nothing else.
    fn rewrite(&mut self, node: &Node) -> bool {
        let Some(rewrite) = node.get("urlRewrite") else {
            return false;
        };
        let prefix = rewrite.at(&["path", "replacePrefixMatch"]);
        let removes = prefix.and_then(Node::text) == Some("/");
        self.strips_path |= removes;
        removes && rewrite.get("hostname").is_none()
    }
}

fn header_edits(mut keys: Keys<'_>, log: &mut Log<'_>) -> HeaderEdits {
    let mut pairs = |key: &str| -> BTreeMap<String, String> {
        let headers = keys.list(key, log).iter();
        headers
            .filter_map(|node| Keys::of(node, "the header", log).name_and_value(log))
            .collect()
    };
    let (set, add) = (pairs("set"), pairs("add"));
    HeaderEdits {
        remove: keys.texts("remove", log),
        rename: BTreeMap::new(),
        set,
        add,
    }
}
