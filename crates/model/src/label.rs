//! The label of the direct variant. Earlier versions called it `floor`.

use serde::{Deserialize, Deserializer};

pub(crate) const DIRECT: &str = "direct";

/// Reports whether a label is the direct variant's, in this or an earlier version.
pub fn is_direct(label: &str) -> bool {
    matches!(label, DIRECT | "floor")
}

/// Deserializes the label of a variant, and replaces `floor` with `direct`.
pub(crate) fn required<'de, D: Deserializer<'de>>(label: D) -> Result<String, D::Error> {
    String::deserialize(label).map(current)
}

/// Like [`required`], for a label that may be missing.
pub(crate) fn optional<'de, D: Deserializer<'de>>(label: D) -> Result<Option<String>, D::Error> {
    Ok(Option::deserialize(label)?.map(current))
}

fn current(label: String) -> String {
    match is_direct(&label) {
        true => DIRECT.into(),
        false => label,
    }
}
