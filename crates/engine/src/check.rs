//! Checks on responses, compiled before the start.

use std::cell::OnceCell;

use gatebench_model::Check;
use gatebench_net::http1;
use memchr::memmem::Finder;
use serde_json::Value;

/// Returns the checks that a single response, outside a load, fails. The strings are those of
/// [`crate::Outcome::checks`]. `body_bytes` is the length of the body as received.
pub fn failed_checks(
    checks: &[Check],
    head: &http1::Head<'_>,
    body: &[u8],
    body_bytes: u64,
) -> Vec<String> {
    let compiled = Checks::compile(checks, 0);
    let mut failed = Vec::new();
    let field = |name: &str| head.field(name);
    compiled.head(head.status(), field, |number| failed.push(number));
    compiled.length(body_bytes, |number| failed.push(number));
    compiled.body(body, |number| failed.push(number));
    failed.sort_unstable();
    failed
        .into_iter()
        .filter_map(|number| checks.get(number))
        .map(ToString::to_string)
        .collect()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    statuses: Vec<(usize, Vec<u16>)>,
    absent: Vec<(usize, String)>,
    headers: Vec<(usize, String, Vec<u8>)>,
    lengths: Vec<(usize, u64)>,
    bodies: Vec<(usize, BodyCheck)>,
}

#[derive(Clone, Debug)]
enum BodyCheck {
    Equals(Vec<u8>),
    Contains(Finder<'static>),
    Json { path: String, equals: Value },
    JsonAbsent(String),
}

impl Checks {
    /// `first` is the index of the first of these checks in the load's counts.
    pub(crate) fn compile(checks: &[Check], first: usize) -> Self {
        let mut compiled = Self::default();
        for (number, check) in (first..).zip(checks) {
            let mut body = |check| compiled.bodies.push((number, check));
            match check {
                Check::Status(status) => compiled.statuses.push((number, vec![*status])),
                Check::StatusIn(statuses) => compiled.statuses.push((number, statuses.clone())),
                Check::HeaderAbsent(name) => compiled.absent.push((number, name.clone())),
                Check::JsonAbsent(path) => body(BodyCheck::JsonAbsent(path.clone())),
                Check::Header(header) => {
                    let value = header.equals.clone().into_bytes();
                    compiled.headers.push((number, header.name.clone(), value));
                }
                Check::BodyEquals(text) => body(BodyCheck::Equals(text.clone().into_bytes())),
                Check::BodyBytes(bytes) => compiled.lengths.push((number, *bytes)),
                Check::BodyContains(text) => {
                    let finder = Finder::new(text.as_bytes()).into_owned();
                    body(BodyCheck::Contains(finder));
                }
                Check::Json(json) => {
                    let (path, equals) = (json.path.clone(), json.equals.clone());
                    body(BodyCheck::Json { path, equals });
                }
            }
        }
        compiled
    }

    pub(crate) fn need_body(&self) -> bool {
        !self.bodies.is_empty()
    }

    /// `field` returns the value of the first field with the given name, and `failed` receives the
    /// index of each check that fails.
    pub(crate) fn head<'h>(
        &self,
        status: u16,
        field: impl Fn(&str) -> Option<&'h [u8]>,
        mut failed: impl FnMut(usize),
    ) {
        for (number, statuses) in &self.statuses {
            if !statuses.contains(&status) {
                failed(*number);
            }
        }
        for (number, name) in &self.absent {
            if field(name).is_some() {
                failed(*number);
            }
        }
        for (number, name, value) in &self.headers {
            if field(name) != Some(value.as_slice()) {
                failed(*number);
            }
        }
    }

    /// Checks the length of the body as received, even if the body was not kept.
    pub(crate) fn length(&self, body_bytes: u64, mut failed: impl FnMut(usize)) {
        for (number, bytes) in &self.lengths {
            if *bytes != body_bytes {
                failed(*number);
            }
        }
    }

    /// Fails all checks of a body that is too long to be kept.
    pub(crate) fn fail_body(&self, mut failed: impl FnMut(usize)) {
        self.bodies.iter().for_each(|(number, _)| failed(*number));
    }

    pub(crate) fn body(&self, body: &[u8], mut failed: impl FnMut(usize)) {
        let parsed = OnceCell::new();
        let json = || {
            parsed
                .get_or_init(|| serde_json::from_slice::<Value>(body).ok())
                .as_ref()
        };
        for (number, check) in &self.bodies {
            let holds = match check {
                BodyCheck::Equals(text) => body == text.as_slice(),
                BodyCheck::Contains(finder) => finder.find(body).is_some(),
                BodyCheck::Json { path, equals } => json().is_some_and(|value| {
                    let found = value.pointer(path);
                    found.is_some_and(|found| json_equal(found, equals))
                }),
                BodyCheck::JsonAbsent(path) => {
                    json().is_some_and(|value| value.pointer(path).is_none())
                }
            };
            if !holds {
                failed(*number);
            }
        }
    }
}

/// The numbers 60 and 60.0 are equal, because RFC 8259 has only one kind of number.
fn json_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Two integers are compared exactly, because large ones that differ may have the same
        // floating-point value.
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| json_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| json_equal(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use gatebench_net::http1::{Decoder, Event, Limits};

    use super::*;

    #[test]
    fn the_length_of_a_body_is_checked() {
        let checks = Checks::compile(&[Check::Status(200), Check::BodyBytes(3)], 7);
        assert!(!checks.need_body());
        let failed = |bytes| {
            let mut failed = Vec::new();
            checks.length(bytes, |number| failed.push(number));
            failed
        };
        assert_eq!([2, 3, 4].map(failed), [vec![8], vec![], vec![8]]);
    }

    #[test]
    fn integers_in_json_are_compared_exactly() {
        let equal = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|it| serde_json::from_str::<Value>(it).unwrap());
            json_equal(&a, &b)
        };
        assert!(equal("60", "60.0"));
        assert!(equal("9007199254740993", "9007199254740993"));
        assert!(!equal("9007199254740993", "9007199254740992"));
    }

    #[test]
    fn absences_and_lists_of_statuses_are_checked() {
        let checks = [
            Check::StatusIn(vec![200, 429]),
            Check::HeaderAbsent("X-Secret".into()),
            Check::JsonAbsent("/a/b".into()),
        ];
        let failed = |response: &str, body: &str| {
            let mut decoder = Decoder::responses(Limits::default());
            let mut input = response.as_bytes();
            match decoder.next(&mut input).unwrap().unwrap() {
                Event::Head(head) => {
                    failed_checks(&checks, &head, body.as_bytes(), body.len() as u64)
                }
                other => panic!("expected a head, but got {other:?}"),
            }
        };
        let good = failed("HTTP/1.1 429 X\r\nX-Other: 1\r\n\r\n", r#"{"a":{"c":1}}"#);
        assert!(good.is_empty(), "{good:?}");
        let head = "HTTP/1.1 401 X\r\nx-secret: 1\r\n\r\n";
        let expected = [
            "status is 200 or 429",
            "there is no header X-Secret",
            "there is no JSON at '/a/b'",
        ];
        assert_eq!(failed(head, r#"{"a":{"b":null}}"#), expected);
        assert_eq!(failed("HTTP/1.1 200 OK\r\n\r\n", "no JSON").len(), 1);
    }
}
