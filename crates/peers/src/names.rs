//! What checks are called, the same for every engine.

use gatebench_model::Check;

/// So much of a text is shown.
const SHOWN_CHARS: usize = 40;

/// A check in words, as gatebench's own engine counts it.
pub fn check_in_words(check: &Check) -> String {
    match check {
        Check::Status(status) => format!("status is {status}"),
        Check::Header(header) => format!("header {} is '{}'", header.name, header.equals),
        Check::BodyEquals(text) => format!("body is '{}'", shortened(text)),
        Check::BodyContains(text) => format!("body contains '{}'", shortened(text)),
        Check::Json(json) => format!("JSON at '{}' is {}", json.path, json.equals),
    }
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
