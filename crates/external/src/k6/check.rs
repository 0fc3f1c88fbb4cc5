//! Checks as JavaScript expressions.

use gatebench_model::{Check, Request};

use crate::text::js;

/// Helper functions for the expressions: JSON Pointer (RFC 6901), and equality that ignores the
/// order of keys.
pub(super) const JSON_HELPERS: &str = r"
// The value at a JSON Pointer (RFC 6901) of a response; undefined where there is none.
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
    format!(
        "{}: (response) => {}",
        js(&check.to_string()),
        condition(check)
    )
}

fn condition(check: &Check) -> String {
    match check {
        Check::Status(status) => format!("response.status === {status}"),
        Check::StatusIn(statuses) => format!("{statuses:?}.includes(response.status)"),
        Check::HeaderAbsent(name) => {
            format!("response.headers[{}] === undefined", js(&canonical(name)))
        }
        Check::JsonAbsent(path) => format!("at(response, {}) === undefined", js(path)),
        Check::Header(header) => format!(
            "response.headers[{}] === {}",
            js(&canonical(&header.name)),
            js(&header.equals)
        ),
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

/// The name of a header in k6's form: `Content-Type`.
fn canonical(name: &str) -> String {
    let words: Vec<String> = name
        .split('-')
        .map(|word| {
            let lower = word.to_lowercase();
            let mut chars = lower.chars();
            let first = chars.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(chars).collect()
        })
        .collect();
    words.join("-")
}

/// Reports whether a request's checks need the body of its responses.
pub(super) fn need_body(request: &Request) -> bool {
    request.checks.iter().any(|check| {
        matches!(
            check,
            Check::BodyEquals(_) | Check::BodyContains(_) | Check::Json(_) | Check::JsonAbsent(_)
        )
    })
}

/// Reports whether a request's checks need the length of the body of its responses.
pub(super) fn need_length(request: &Request) -> bool {
    let mut checks = request.checks.iter();
    checks.any(|check| matches!(check, Check::BodyBytes(_)))
}

/// Reports whether a request's checks need JSON.
pub(super) fn need_json(request: &Request) -> bool {
    request
        .checks
        .iter()
        .any(|check| matches!(check, Check::Json(_) | Check::JsonAbsent(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_named_as_k6_names_them() {
        assert_eq!(canonical("content-type"), "Content-Type");
        assert_eq!(canonical("X-API-key"), "X-Api-Key");
        assert_eq!(canonical("etag"), "Etag");
    }
}
