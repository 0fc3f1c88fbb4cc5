//! Replaces the addresses that Envoy listens on. One of them is measured, and the others become
//! Unix sockets of the trial.

use gatebench_config::Node;

use super::routes;
use crate::wire::edits::Edits;
use crate::wire::tree::{mappings, removable};
use crate::wire::{CERTIFICATE, OTHER_PORT, PORT};

/// The listeners of a configuration, one of which is measured.
pub(super) struct Listeners {
    measured: usize,
    pub(super) has_tls: bool,
}

fn all(root: &Node) -> &[Node] {
    let all = root.at(&["static_resources", "listeners"]);
    all.map(Node::items).unwrap_or_default()
}

impl Listeners {
    /// Chooses the listener with the most routes to clusters.
    pub(super) fn of(root: &Node) -> Self {
        let routes = |index: &usize| routes::hints(all(root).get(*index)).len();
        // On a tie, choose the first one.
        let measured = (0..all(root).len()).rev().max_by_key(routes).unwrap_or(0);
        let chains = all(root).get(measured).map(|it| it.list("filter_chains"));
        let has_tls = |chain: &Node| chain.get("transport_socket").is_some();
        Self {
            measured,
            has_tls: chains.unwrap_or_default().iter().any(has_tls),
        }
    }

    pub(super) fn measured<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        all(root).get(self.measured)
    }

    pub(super) fn edit(&self, text: &str, root: &Node, edits: &mut Edits<'_>) {
        for (index, listener) in all(root).iter().enumerate() {
            if let Some(address) = listener.get("address") {
                let (new, why) = match index == self.measured {
                    true => (here(), PORT),
                    false => (socket(index), OTHER_PORT),
                };
                edits.replace(&address.span, new, why);
            }
            if let Some(more) = listener.entry("additional_addresses") {
                edits.remove(&removable(text, listener, more), PORT);
            }
            for chain in listener.list("filter_chains") {
                self.chain(text, chain, edits);
            }
        }
    }

    fn chain(&self, text: &str, chain: &Node, edits: &mut Edits<'_>) {
        let Some(socket) = chain.entry("transport_socket") else {
            return;
        };
        if !self.has_tls {
            edits.remove(&removable(text, chain, socket), CERTIFICATE);
            return;
        }
        for node in mappings(&socket.value) {
            for (key, new) in [("certificate_chain", "certificate"), ("private_key", "key")] {
                if let Some(source) = node.get(key) {
                    let new = format!("{{\"filename\": \"{{{{ listeners[0].tls.{new} }}}}\"}}");
                    edits.replace(&source.span, new, CERTIFICATE);
                }
            }
            for key in ["validation_context", "require_client_certificate"] {
                if let Some(entry) = node.entry(key) {
                    edits.remove(&removable(text, node, entry), CERTIFICATE);
                }
            }
        }
    }
}

fn here() -> String {
    "{\"socket_address\": {\"address\": \"{{ listeners[0].address }}\", \
     \"port_value\": {{ listeners[0].port }} } }"
        .to_owned()
}

fn socket(index: usize) -> String {
    format!("{{\"pipe\": {{\"path\": \"{{{{ cwd }}}}/other-{index}.sock\"}} }}")
}
