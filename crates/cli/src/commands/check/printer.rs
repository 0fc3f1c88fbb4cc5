//! Formats the result of each scenario for `gatebench check`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use console::measure_text_width;
use gatebench_model::Scenario;
use gatebench_report::format::counted;
use gatebench_report::text::{clean_lines, is_direction};
use gatebench_runner::{CheckOutcome, Checked};
use gatebench_store::{ParityCaseRecord, ParityRecord};

use crate::failure::indented_reason;
use crate::terminal;

const INDENT: usize = 6;
/// The maximum number of failing cases that are shown for a scenario. In a scenario with a hundred
/// routes, most cases are alike.
const SHOWN_MAX: usize = 3;
/// The maximum number of characters that are shown of a body. Error pages are usually shorter.
const BODY_CHARS_MAX: usize = 400;
const GAP: &str = "  │ ";

/// Describes the scenarios one after another. If a scenario fails in the same way as an earlier
/// one, its text names the earlier scenario instead of describing the failure again.
#[derive(Debug, Default)]
pub struct Printer {
    /// Maps each failure to the first scenario that had it.
    shown: HashMap<String, String>,
    /// The names of the cases that the current scenario contains.
    stated: HashSet<String>,
}

impl Printer {
    /// Must be called with each scenario before its text is formatted.
    pub fn begin(&mut self, scenario: &Scenario) {
        let later = scenario.later.iter().flat_map(|later| &later.parity);
        let stated = scenario.parity.iter().chain(later);
        self.stated = stated.map(|case| case.name.clone()).collect();
    }

    /// Returns the text of one scenario: its failures or, if it has none, one line. If the gateway
    /// could not be stopped correctly, a description of the problem follows.
    pub fn text(&mut self, checked: &Checked) -> String {
        let style = terminal::stdout_style();
        let name = &checked.scenario;
        let mut text = match &checked.outcome {
            CheckOutcome::NotSupported(policies) => {
                let mark = style.yellow().apply_to("–");
                format!("{mark} {name}: not supported: {}", policies.join(", "))
            }
            CheckOutcome::Interrupted => {
                format!("{} {name}: interrupted", style.yellow().apply_to("–"))
            }
            CheckOutcome::Failed {
                culprit,
                reason,
                remedy,
            } => {
                let culprit = culprit.to_string();
                let what = indented_reason(reason, &culprit, 4);
                let mark = style.red().bold().apply_to("✗");
                match self.shown_in(&what, name) {
                    Some(first) => format!("{mark} {name}: same failure as in {first}"),
                    None => format!("{mark} {name}: {culprit}: {what}\n  → {remedy}"),
                }
            }
            CheckOutcome::Asked(record) if checked.holds() => {
                let mark = style.green().apply_to("✓");
                format!("{mark} {name}: {}", self.passed(record))
            }
            CheckOutcome::Asked(record) => {
                let mark = style.red().bold().apply_to("✗");
                let failing = self.failing(record, name);
                let stderr = self.stderr(&checked.stderr, name);
                format!("{mark} {name}: {}{failing}{stderr}", checked.title)
            }
        };
        if let Some(how) = &checked.stopped_badly {
            let lines = clean_lines(how).replace('\n', "\n    ");
            text.push_str(&format!("\n    {lines}"));
        }
        text
    }

    /// Counts the cases of a scenario that passes, and those of them that gatebench added.
    fn passed(&self, record: &ParityRecord) -> String {
        let is_added = |case: &&ParityCaseRecord| !self.stated.contains(&case.name);
        let all = cases(record.cases.len());
        match record.cases.iter().filter(is_added).count() {
            0 => all,
            added => format!("{all}, {added} of them added by gatebench"),
        }
    }

    /// Returns the gateway's standard error, or nothing if it was already shown for an earlier
    /// scenario.
    fn stderr(&mut self, written: &str, scenario: &str) -> String {
        if written.is_empty() || self.shown_in(written, scenario).is_some() {
            return String::new();
        }
        let lines = clean_lines(written).replace('\n', "\n    ");
        format!("\n  the gateway wrote to standard error:\n    {lines}")
    }

    fn failing(&mut self, record: &ParityRecord, scenario: &str) -> String {
        let mut text = String::new();
        let (passed, failing): (Vec<_>, Vec<_>) = record.cases.iter().partition(|case| case.passed);
        let style = terminal::stdout_style();
        if !passed.is_empty() {
            let mark = style.clone().green().apply_to("✓");
            text.push_str(&format!("\n  {mark} {}", cases(passed.len())));
        }
        let mark = style.red().bold().apply_to("✗");
        for case in failing.iter().take(SHOWN_MAX) {
            let what = format!("{}\n{}\n{}", case.name, case.expected, case.received);
            let shown = match self.shown_in(&what, scenario) {
                Some(first) => format!(" (same failure as in {first})"),
                None => format!("\n{}", side_by_side(case)),
            };
            text.push_str(&format!("\n  {mark} {}{shown}", case.name));
        }
        let more = failing.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            text.push_str(&format!("\n  … and {} more fail", cases(more)));
        }
        if !failing.is_empty() {
            text.push_str(
                "\n  After a failure, some of the remaining tests of the scenario are not run.",
            );
        }
        let (responding, expected) = (record.routes_answering, record.routes_expected);
        if failing.is_empty() && responding < expected {
            text.push_str(&format!(
                "\n  only {responding} of {expected} routes respond"
            ));
        }
        text
    }

    /// Returns the earlier scenario for which the same failure was shown. The comparison ignores
    /// the scenario's name and, because ports and times differ, all digits.
    fn shown_in(&mut self, what: &str, scenario: &str) -> Option<String> {
        let same = what.replace(scenario, "");
        let same = same.chars().filter(|c| !c.is_ascii_digit()).collect();
        match self.shown.entry(same) {
            Entry::Occupied(first) if first.get() != scenario => Some(first.get().clone()),
            Entry::Occupied(_) => None,
            Entry::Vacant(none) => {
                none.insert(scenario.to_owned());
                None
            }
        }
    }
}

fn cases(count: usize) -> String {
    counted(count as u64, "case")
}

/// Formats the request and the response in two columns, with the expectation below them.
fn side_by_side(case: &ParityCaseRecord) -> String {
    let width = (terminal::stdout_width() - INDENT - measure_text_width(GAP)) / 2;
    let column = |title: &str, text: &str| -> Vec<String> {
        let lines = text.trim_end().lines().flat_map(|line| pieces(line, width));
        std::iter::once(title.to_owned()).chain(lines).collect()
    };
    let sent = column("sent", &with_short_body(&case.sent));
    let received = column("received", &with_short_body(&case.received));
    let mut text = String::new();
    for row in 0..sent.len().max(received.len()) {
        let [left, right] = [&sent, &received].map(|it| it.get(row).map_or("", |it| it));
        let pad = width.saturating_sub(measure_text_width(left));
        let line = format!("{:INDENT$}{left}{:pad$}{GAP}{right}", "", "");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for (number, line) in case.expected.lines().enumerate() {
        let title = if number == 0 { "expected:" } else { "" };
        text.push_str(&format!("{:INDENT$}{title:9} {line}\n", ""));
    }
    text.trim_end().to_owned()
}

/// Returns an HTTP message with at most [`BODY_CHARS_MAX`] characters of its body.
fn with_short_body(message: &str) -> String {
    let Some((head, body)) = message.split_once("\n\n") else {
        return message.to_owned();
    };
    let Some((at, _)) = body.char_indices().nth(BODY_CHARS_MAX) else {
        return message.to_owned();
    };
    let (shown, rest) = body.split_at(at);
    // An ellipsis at the end means that the record itself lacks the end of the body.
    let least = match rest.ends_with('…') {
        true => "at least ",
        false => "",
    };
    let rest = counted(rest.chars().count() as u64, "character");
    format!("{head}\n\n{shown}\n… {least}{rest} left out")
}

/// Splits a line into pieces of at most `width` characters. Control characters and characters that
/// change the direction of text become `·`.
fn pieces(line: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = line
        .chars()
        .map(|c| match c.is_control() || is_direction(c) {
            true => '·',
            false => c,
        })
        .collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters
        .chunks(width.max(1))
        .map(|chunk| chunk.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_is_shown_once() {
        let mut printer = Printer::default();
        assert_eq!(printer.shown_in("port 1 of api-key", "api-key"), None);
        assert_eq!(
            printer.shown_in("port 22 of mock", "mock").as_deref(),
            Some("api-key")
        );
        assert_eq!(printer.shown_in("port 3 of api-key", "api-key"), None);
        assert_eq!(printer.shown_in("another", "mock"), None);
    }

    #[test]
    fn cases_that_gatebench_added_are_counted() {
        let text = "{scenario: s, title: t, upstream: ping, \
                    routes: [{name: all, path: /}], requests: [{path: /ping}], \
                    parity: [{name: a, request: {path: /ping}, reaches_upstream: true}], \
                    later: {routes: [{name: new, path: /new}], \
                            parity: [{name: b, request: {path: /new}, reaches_upstream: true}]}}";
        let scenario = gatebench_config::parse("s.yaml", text).unwrap();
        let record = |names: &[&str]| ParityRecord {
            cases: Vec::from_iter(names.iter().map(|name| ParityCaseRecord {
                name: (*name).into(),
                ..ParityCaseRecord::default()
            })),
            ..ParityRecord::default()
        };
        let mut printer = Printer::default();
        printer.begin(&scenario);
        assert_eq!(
            printer.passed(&record(&["a", "kept alive", "a", "b"])),
            "4 cases, 1 of them added by gatebench"
        );
        assert_eq!(printer.passed(&record(&["a"])), "1 case");
    }

    #[test]
    fn a_long_body_is_truncated() {
        let message = |body: &str| format!("HTTP/1.1 200 OK\nA: b\n\n{body}");
        let [all, more] = [BODY_CHARS_MAX, BODY_CHARS_MAX + 1_200].map(|it| "é".repeat(it));
        for whole in ["no response", &message(""), &message(&all)] {
            assert_eq!(with_short_body(whole), whole);
        }
        assert_eq!(
            with_short_body(&message(&more)),
            message(&format!("{all}\n… 1,200 characters left out"))
        );
        assert_eq!(
            with_short_body(&message(&format!("{all}…"))),
            message(&format!("{all}\n… at least 1 character left out"))
        );
    }

    #[test]
    fn a_failing_case_is_shown_in_two_columns() {
        let case = ParityCaseRecord {
            name: "no key is refused".into(),
            sent: "GET / HTTP/1.1\nHost: a\n\n".into(),
            received: "HTTP/1.1 200 OK\n\n".into(),
            expected: "status is 401\nthe request does not reach the upstream".into(),
            ..ParityCaseRecord::default()
        };
        let shown = side_by_side(&case);
        let rows: Vec<Vec<&str>> = shown
            .lines()
            .map(|line| line.split('│').map(str::trim).collect())
            .collect();
        assert_eq!(rows[0], ["sent", "received"]);
        assert_eq!(rows[1], ["GET / HTTP/1.1", "HTTP/1.1 200 OK"]);
        assert_eq!(rows[3], ["expected: status is 401"]);
        assert_eq!(pieces("abcde", 2), ["ab", "cd", "e"]);
    }
}
