//! A check as a JavaScript expression.

use gatebench_model::{Check, Request};

use crate::text::js;

/// Helpers that the expressions need: JSON Pointer (RFC 6901), and equality in which the order of
/// keys does not count.
pub(super) const JSON_HELPERS: &str = r"
// The value at a JSON Pointer (RFC 6901) of an answer; undefined where there is none.
function at(answer, pointer) {
  let value;
  try {
    value = JSON.parse(answer.body);
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

/// `'status is 200': (answer) => answer.status === 200`.
pub(super) fn entry(check: &Check) -> String {
    format!(
        "{}: (answer) => {}",
        js(&check.to_string()),
        condition(check)
    )
}

fn condition(check: &Check) -> String {
    match check {
        Check::Status(status) => format!("answer.status === {status}"),
        Check::StatusIn(statuses) => format!("{statuses:?}.includes(answer.status)"),
        Check::HeaderAbsent(name) => {
            format!("answer.headers[{}] === undefined", js(&canonical(name)))
        }
        Check::JsonAbsent(path) => format!("at(answer, {}) === undefined", js(path)),
        Check::Header(header) => format!(
            "answer.headers[{}] === {}",
            js(&canonical(&header.name)),
            js(&header.equals)
        ),
        Check::BodyEquals(text) => format!("answer.body === {}", js(text)),
        // An ArrayBuffer, where no other check needs the text.
        Check::BodyBytes(bytes) => format!(
            "(answer.body === null ? 0 : answer.body.byteLength === undefined ? answer.body.length : \
             answer.body.byteLength) === {bytes}"
        ),
        Check::BodyContains(text) => format!("(answer.body || '').includes({})", js(text)),
        Check::Json(json) => format!("same(at(answer, {}), {})", js(&json.path), json.equals),
    }
}

/// The name of a header as k6 has it: `Content-Type`.
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

/// Whether a request's checks look into the body of its answers.
pub(super) fn need_body(request: &Request) -> bool {
    request.checks.iter().any(|check| {
        matches!(
            check,
            Check::BodyEquals(_) | Check::BodyContains(_) | Check::Json(_) | Check::JsonAbsent(_)
        )
    })
}

/// Whether a request's checks ask how long the body of its answers is.
pub(super) fn need_length(request: &Request) -> bool {
    let mut checks = request.checks.iter();
    checks.any(|check| matches!(check, Check::BodyBytes(_)))
}

/// Whether a request's checks look into JSON.
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
