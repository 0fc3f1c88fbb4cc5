//! Checks as JavaScript expressions.

use gatebench_model::{Check, Request};

use crate::text::js;

/// Helper functions for the expressions: a lookup by JSON Pointer (RFC 6901), and equality of JSON
/// values that ignores the order of keys.
pub(super) const JSON_HELPERS: &str = r"
// Returns the value at a JSON Pointer (RFC 6901) in a response, or undefined if there is none.
function at(response, pointer) {
  let value;
  try {
    value = JSON.parse(response.body);
  } catch (error) {
    return undefined;
  }
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replace(/~1/g, '/').replace(/~0/g, '~');
    const known = value !== null && typeof value === 'object' && Object.prototype.hasOwnProperty.call(value, key);
    value = known ? value[key] : undefined;
  }
  return value;
}

function same(a, b) {
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => key in b && same(a[key], b[key]))
  );
}
";

/// Returns an entry such as `'status is 200': (response) => response.status === 200`.
pub(super) fn entry(check: &Check) -> String {
    let name = js(&check.to_string());
    format!("{name}: (response) => {}", condition(check))
}

fn condition(check: &Check) -> String {
    match check {
        Check::Status(status) => format!("response.status === {status}"),
        Check::StatusIn(statuses) => format!("{statuses:?}.includes(response.status)"),
        Check::HeaderAbsent(name) => format!("{} === undefined", field(name)),
        Check::JsonAbsent(path) => format!("at(response, {}) === undefined", js(path)),
        Check::Header(header) => format!("{} === {}", field(&header.name), js(&header.equals)),
        Check::BodyEquals(text) => format!("response.body === {}", js(text)),
        // The body is an ArrayBuffer if no other check needs the text.
        Check::BodyBytes(bytes) => format!(
            "(response.body === null ? 0 : response.body.byteLength === undefined ? response.body.length : \
             response.body.byteLength) === {bytes}"
        ),
        Check::BodyContains(text) => format!("(response.body || '').includes({})", js(text)),
        Check::Json(json) => format!("same(at(response, {}), {})", js(&json.path), json.equals),
    }
}

fn field(name: &str) -> String {
    format!("response.headers[{}]", js(&canonical(name)))
}

/// Returns the name of a header in k6's form, as in `Content-Type`.
fn canonical(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut word = word.to_lowercase();
        if let Some(first) = word.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        word
    };
    name.split('-')
        .map(capitalized)
        .collect::<Vec<_>>()
        .join("-")
}

/// Reports whether a request's checks need the response body as text.
pub(super) fn need_body(request: &Request) -> bool {
    let is_of_text = |it: &Check| matches!(it, Check::BodyEquals(_) | Check::BodyContains(_));
    need_json(request) || request.checks.iter().any(is_of_text)
}

pub(super) fn need_length(request: &Request) -> bool {
    let is_of_length = |it: &Check| matches!(it, Check::BodyBytes(_));
    request.checks.iter().any(is_of_length)
}

pub(super) fn need_json(request: &Request) -> bool {
    let is_of_json = |it: &Check| matches!(it, Check::Json(_) | Check::JsonAbsent(_));
    request.checks.iter().any(is_of_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_named_as_in_k6() {
        for (name, expected) in [
            ("content-type", "Content-Type"),
            ("X-API-key", "X-Api-Key"),
            ("etag", "Etag"),
        ] {
            assert_eq!(canonical(name), expected);
        }
    }
}
