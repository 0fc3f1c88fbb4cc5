//! Converts Kong's transformers to header and JSON edits.

use gatebench_model::Policy;
use gatebench_model::policy::{HeaderEdits, JsonEdits};
use serde_json::Value;

use crate::keys::Keys;
use crate::log::Log;

/// Returns the policies for a transformer, or `None` if one of its operations has no corresponding
/// policy.
pub(super) fn policies(
    keys: &mut Keys<'_>,
    is_request: bool,
    log: &mut Log<'_>,
) -> Option<Vec<Policy>> {
    let mut headers = HeaderEdits::default();
    let mut json = JsonEdits::default();
    let mut replaced: Vec<String> = Vec::new();
    let body = if is_request { "body" } else { "json" };
    for operation in ["remove", "rename", "replace", "add", "append"] {
        let Some(mut lists) = keys.keys(operation, log) else {
            continue;
        };
        for text in lists.texts("headers", log) {
            match operation {
                "replace" => replaced.push(text),
                _ => edit_header(&mut headers, operation, &text),
            }
        }
        let types = lists.texts("json_types", log);
        for (number, text) in lists.texts(body, log).iter().enumerate() {
            let kind = types.get(number).map_or("string", String::as_str);
            edit_json(&mut json, operation, text, kind)?;
        }
        // No policy edits queries or paths.
        if lists.unread().next().is_some() {
            return None;
        }
    }
    // `replace` applies only to a header that exists, and `add` only to one that does not.
    // Together, the two operations set a header.
    let is_set = |text: &String| {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        headers.set.get(name).is_some_and(|set| set == value)
    };
    if !replaced.iter().all(is_set) {
        return None;
    }
    let mut policies = Vec::new();
    if headers != HeaderEdits::default() {
        policies.push(match is_request {
            true => Policy::RequestHeaders(headers),
            false => Policy::ResponseHeaders(headers),
        });
    }
    if json != JsonEdits::default() {
        policies.push(match is_request {
            true => Policy::RequestJson(json),
            false => Policy::ResponseJson(json),
        });
    }
    Some(policies)
}

fn edit_header(edits: &mut HeaderEdits, operation: &str, text: &str) {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
    match operation {
        "remove" => edits.remove.push(name),
        "rename" => drop(edits.rename.insert(name, value)),
        "add" => drop(edits.set.insert(name, value)),
        _ => drop(edits.add.insert(name, value)),
    }
}

fn edit_json(edits: &mut JsonEdits, operation: &str, text: &str, kind: &str) -> Option<()> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let place = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    let value = match kind {
        "number" | "boolean" => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
        _ => Value::from(value),
    };
    match operation {
        "remove" => edits.remove.push(place),
        "rename" => drop(edits.rename.insert(place, value.as_str()?.to_owned())),
        "add" => drop(edits.default.insert(place, value)),
        _ => return None,
    }
    Some(())
}
