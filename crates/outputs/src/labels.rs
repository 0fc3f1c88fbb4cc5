//! The labels that k6 gives to requests with a given outcome.

use std::collections::BTreeMap;

use crate::facts::{Class, Second};

/// The labels of a series in addition to those of its load.
pub(crate) type Extra = Vec<(&'static str, String)>;

/// k6's error code for a kind of error; see
/// <https://grafana.com/docs/k6/latest/javascript-api/error-codes/>.
fn error_code(kind: &str) -> u16 {
    match kind {
        "timeout" => 1050,
        "connect" => 1210,
        "reset" => 1220,
        "tls" => 1300,
        // k6 has no specific code for a connection that is closed early or for a response that is
        // not HTTP.
        _ => 1000,
    }
}

pub(crate) fn of_status(status: u16) -> Extra {
    let class = Class::of(status);
    let mut labels = of_class(class);
    labels[0].1 = status.to_string();
    if !class.is_expected() {
        labels.push(("error_code", (1000 + status).to_string()));
    }
    labels
}

/// The labels of requests for which only the class is known.
pub(crate) fn of_class(class: Class) -> Extra {
    let status = match class {
        Class::Failed => "0",
        class => class.as_str(),
    };
    vec![
        ("status", status.to_owned()),
        ("expected_response", class.is_expected().to_string()),
    ]
}

pub(crate) fn of_error(kind: &str) -> Extra {
    let mut labels = of_class(Class::Failed);
    labels.push(("error", kind.to_owned()));
    labels.push(("error_code", error_code(kind).to_string()));
    labels
}

/// The labels of the times of a class in a second. Times are recorded only by class, so the labels
/// name a status or a kind of error only if the class had no other status or kind of error in that
/// second.
pub(crate) fn of_times(class: Class, second: &Second) -> Extra {
    if class == Class::Failed {
        return match only(&second.errors) {
            Some(kind) => of_error(kind),
            None => of_class(class),
        };
    }
    let mut statuses = second.statuses.keys().copied();
    let mut of_this = statuses.by_ref().filter(|it| Class::of(*it) == class);
    match (of_this.next(), of_this.next()) {
        (Some(status), None) => of_status(status),
        _ => of_class(class),
    }
}

fn only(errors: &BTreeMap<String, u64>) -> Option<&String> {
    let mut kinds = errors.keys();
    kinds.next().filter(|_| kinds.next().is_none())
}
