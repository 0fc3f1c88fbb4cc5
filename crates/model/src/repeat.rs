//! `repeat:` — one item of a list of a scenario that stands for many.

use schemars::{Schema, json_schema};

/// Copies of one item at the most.
pub(crate) const REPEAT_MAX: u64 = 10_000;

/// Adds `repeat` to the keys that an item of a list may have in a file. The type does not have it:
/// what is repeated is written out when the file is read.
pub(crate) fn describe(schema: &mut Schema) {
    let repeat = json_schema!({
        "type": "integer",
        "minimum": 1,
        "maximum": REPEAT_MAX,
        "description": "Writes the item so many times; {{ index }} in it stands for 1, 2, 3 and so on."
    });
    if let Some(properties) = schema
        .get_mut("properties")
        .and_then(|it| it.as_object_mut())
    {
        properties.insert("repeat".into(), repeat.into());
    }
}
