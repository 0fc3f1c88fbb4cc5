//! Rules for header fields in HTTP/1.1 (RFC 9110 section 5, RFC 9112 section 2.2).

use std::collections::HashSet;
use std::ops::Range;

use gatebench_config::{Entry, Node, Problem};

/// The host field, which a request may set but no policy may change.
const HOST: &str = "host";

/// Fields that determine how a message is framed or how its connection is used.
const RESERVED: [&str; 5] = [
    "content-length",
    "connection",
    "transfer-encoding",
    "te",
    "upgrade",
];

/// Reports whether a text is a token (RFC 9110 section 5.6.2).
fn is_token(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

/// Reports whether a text consists of visible ASCII characters and, except at its ends, of spaces
/// and tabs (RFC 9110 section 5.5 without the obsolete bytes).
fn is_field_value(text: &str) -> bool {
    text.trim() == text && text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

fn is_fixed(name: &str) -> bool {
    let folded = name.to_ascii_lowercase();
    folded == HOST || RESERVED.contains(&folded.as_str())
}

pub(super) fn request_headers(request: &Node, problems: &mut Vec<Problem>) {
    let mut seen = HashSet::new();
    for entry in request.mapping("headers") {
        let Entry { key, value, .. } = entry;
        let folded = key.to_ascii_lowercase();
        if !is_token(key) {
            let message = format!("`{key}` is not a header name");
            let help = "write letters, digits and hyphens only, as in X-Api-Key";
            problems.push(entry.problem(message, help));
        } else if RESERVED.contains(&folded.as_str()) {
            let message = format!("`{key}` cannot be set by hand");
            let help = "remove it: gatebench frames each request itself";
            problems.push(entry.problem(message, help));
        } else if folded == HOST && value.text().is_some_and(|text| text.contains("{{")) {
            let help = "write the host out, and use a separate request for each host";
            problems.push(value.problem("`Host` cannot be a template", help));
        } else if !seen.insert(folded) {
            let message =
                format!("the header `{key}` is given twice, with different capitalization");
            let help = "keep one: header names are case-insensitive";
            problems.push(entry.problem(message, help));
        }
        field_value(value, problems);
    }
}

/// Checks the name of a header that carries a key, a consumer's name or the value that a rate limit
/// counts by.
pub(super) fn policy_header(node: &Node, problems: &mut Vec<Problem>) {
    let Some(name) = node.text() else { return };
    if is_fixed(name) {
        let message = format!("no policy can use the header `{name}`");
        problems.push(node.problem(message, "name another header, such as X-Api-Key"));
    }
}

pub(super) fn edited_header(name: &str, span: &Range<usize>, problems: &mut Vec<Problem>) {
    if !is_token(name) {
        let message = format!("`{name}` is not a header name");
        let help = "write letters, digits and hyphens only, as in X-Mine";
        problems.push(Problem::new(span.clone(), message, help));
    } else if is_fixed(name) {
        let message = format!("no policy can change the header `{name}`");
        problems.push(Problem::new(span.clone(), message, "remove it"));
    }
}

pub(super) fn field_value(node: &Node, problems: &mut Vec<Problem>) {
    let Some(text) = node.text() else { return };
    if !is_field_value(text) {
        let help = "use visible ASCII characters, on one line, with no space at either end";
        problems.push(node.problem("this cannot be the value of a header", help));
    }
}
