//! Compares a vector's expectation with the responses that the client received and the requests
//! that the origin read.

use std::io::Write as _;
use std::time::Duration;

use crate::client::Heard;
use crate::origin::Record;
use crate::reader;
use crate::vector::{Expect, Seen, Vector, marked};

/// The statuses with which the gateway itself refuses input. 502 and 504 are not among them,
/// because they show that the gateway forwarded a request that the origin could not read or did not
/// receive completely.
const REFUSALS: [u16; 12] = [400, 401, 403, 404, 405, 408, 413, 414, 415, 431, 501, 505];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Rejected,
    Passed,
    Wrong(String),
    Hangs,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub battery: &'static str,
    pub tried: usize,
    pub rejected: usize,
    pub passed: usize,
    pub wrong: Vec<String>,
    pub crashes: usize,
    pub hangs: Vec<String>,
    pub longest_delay: Duration,
    pub slowest: String,
}

impl Tally {
    pub fn of(battery: &'static str) -> Self {
        Self {
            battery,
            ..Self::default()
        }
    }

    pub fn count(&mut self, name: &str, verdict: Verdict) {
        self.tried += 1;
        match verdict {
            Verdict::Rejected => self.rejected += 1,
            Verdict::Passed => self.passed += 1,
            Verdict::Wrong(why) => self.wrong.push(format!("{name}: {why}")),
            Verdict::Hangs => self.hangs.push(name.to_owned()),
        }
    }

    pub fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.rejected += other.rejected;
        self.passed += other.passed;
        self.wrong.extend(other.wrong);
        self.crashes += other.crashes;
        self.hangs.extend(other.hangs);
        self.delayed(&other.slowest, other.longest_delay);
    }

    pub fn delayed(&mut self, name: &str, delay: Duration) {
        if delay > self.longest_delay {
            self.longest_delay = delay;
            name.clone_into(&mut self.slowest);
        }
    }

    /// Prints the results as a table row, which is shown even if the test passes.
    pub fn print(&self) {
        const COLUMNS: &str = "battery | tried | correctly rejected | correctly passed | wrong | \
                               crashes | hangs | longest delay of another client";
        let numbers = format!(
            "{} | {} | {} | {} | {} | {} | {} | {:.1} ms",
            self.battery,
            self.tried,
            self.rejected,
            self.passed,
            self.wrong.len(),
            self.crashes,
            self.hangs.len(),
            self.longest_delay.as_secs_f64() * 1e3
        );
        let _ = writeln!(std::io::stderr(), "{COLUMNS}\n{numbers}");
    }
}

/// Everything that the origin read because of one vector.
#[derive(Clone, Debug, Default)]
pub struct Found {
    whole: Vec<Seen>,
    /// The bytes of incomplete requests, escaped.
    cut: Vec<String>,
    unreadable: Vec<String>,
}

/// Groups the records by vector number; returns descriptions of those without a valid number
/// separately.
pub fn sorted(records: Vec<Record>, vectors: usize) -> (Vec<Found>, Vec<String>) {
    let mut found = vec![Found::default(); vectors];
    let mut strays = Vec::new();
    for record in records {
        let number = match &record {
            Record::Whole(request) if request.target == "/neighbor" => continue,
            Record::Whole(request) => request.number(),
            Record::Cut(bytes) | Record::Unreadable(bytes, _) => reader::number_in(bytes),
        };
        let Some(found) = number.and_then(|number| found.get_mut(number)) else {
            strays.push(format!("the origin read {record:?}"));
            continue;
        };
        match record {
            Record::Whole(request) => found.whole.push(Seen {
                target: Some(request.target),
                body: request.body,
            }),
            Record::Cut(bytes) => found.cut.push(bytes.escape_ascii().to_string()),
            Record::Unreadable(bytes, why) => {
                let text = bytes.escape_ascii();
                found.unreadable.push(format!("{why} in \"{text}\""));
            }
        }
    }
    (found, strays)
}

pub fn judge(vector: &Vector, number: usize, heard: &Heard, found: &Found) -> Verdict {
    if heard.hangs {
        return Verdict::Hangs;
    }
    let wrong = |why: &str| {
        let sent = vector.bytes.escape_ascii().to_string();
        let sent: String = sent.chars().take(600).collect();
        Verdict::Wrong(format!("{why}; {heard:?}; {found:?}; sent \"{sent}\""))
    };
    if !found.unreadable.is_empty() {
        return wrong("the origin got bytes that are not a request");
    }
    let is_hidden = |cut: &String| cut.starts_with("GET /hidden");
    if found.cut.iter().any(is_hidden) {
        return wrong("a hidden request was forwarded");
    }
    let statuses = || heard.responses.iter().map(|response| response.status);
    let is_good = |status: &u16| (200..300).contains(status);
    if let Some(other) = statuses().find(|it| !is_good(it) && !REFUSALS.contains(it)) {
        return wrong(&format!("status {other}"));
    }
    let expected: Vec<Seen> = vector
        .expect
        .requests()
        .iter()
        .map(|seen| Seen {
            target: seen.target.clone(),
            body: marked(&seen.body, number),
        })
        .collect();
    let answered = statuses().filter(is_good).count();
    let is_told = heard.is_cut || statuses().any(|status| !is_good(&status));
    let passes = || {
        is_all(&expected, &found.whole)
            && !is_told
            && found.cut.is_empty()
            && answered == expected.len()
            && are_in_order(&expected, heard)
    };
    let is_refused = |allowed: &[Seen]| {
        is_among(&found.whole, allowed) && answered <= found.whole.len() && is_told
    };
    let (may_pass, allowed) = match &vector.expect {
        Expect::Passed(_) => (true, None),
        Expect::Refused(_) => (false, Some(&expected[..])),
        Expect::Either(_) => (true, Some(&expected[1..])),
        Expect::Late(_) => (true, Some(&expected[..])),
    };
    match (passes(), allowed.is_some_and(is_refused)) {
        (true, _) if may_pass => Verdict::Passed,
        (_, true) => Verdict::Rejected,
        _ if allowed.is_none() => wrong("it was not forwarded as sent"),
        _ if may_pass => wrong("it was neither forwarded as sent nor refused"),
        _ => wrong("it was not refused, or not in time"),
    }
}

/// Reports whether each element of the first list matches a different element of the second.
fn is_among(some: &[Seen], all: &[Seen]) -> bool {
    let mut left: Vec<&Seen> = all.iter().collect();
    some.iter().all(|one| {
        let fits = |other: &&Seen| {
            let is_target = other.target.is_none() || one.target == other.target;
            is_target && one.body == other.body
        };
        let at = left.iter().position(fits);
        at.map(|at| left.swap_remove(at)).is_some()
    })
}

fn is_all(expected: &[Seen], found: &[Seen]) -> bool {
    expected.len() == found.len() && is_among(found, expected)
}

/// Reports whether the responses name the targets of the requests, in order. An unknown target
/// matches any other.
fn are_in_order(expected: &[Seen], heard: &Heard) -> bool {
    let mut pairs = expected.iter().zip(&heard.responses);
    pairs.all(|(seen, response)| {
        let asked = seen.target.as_ref().zip(response.target.as_ref());
        asked.is_none_or(|(asked, answered)| asked == answered)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Response;

    fn heard(statuses: &[u16]) -> Heard {
        let response = |&status: &u16| Response {
            status,
            target: None,
        };
        Heard {
            responses: statuses.iter().map(response).collect(),
            is_cut: statuses.is_empty(),
            hangs: false,
        }
    }

    fn found(whole: &[Seen]) -> Found {
        Found {
            whole: whole.to_vec(),
            ..Found::default()
        }
    }

    fn verdict(expect: Expect, statuses: &[u16], whole: &[Seen]) -> Verdict {
        judge(
            &Vector::new("v", "", expect),
            0,
            &heard(statuses),
            &found(whole),
        )
    }

    fn is_wrong(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Wrong(_))
    }

    #[test]
    fn the_reading_of_the_origin_decides() {
        let both = [Seen::vector("hello"), Seen::after()];
        let hidden = [
            Seen::vector("hello"),
            Seen::new("/hidden", ""),
            Seen::after(),
        ];
        let other = [Seen::vector("hell"), Seen::after()];
        let passed = || Expect::passed("hello");
        assert_eq!(verdict(passed(), &[204, 204], &both), Verdict::Passed);
        assert!(is_wrong(&verdict(passed(), &[204, 204], &other)));
        assert!(is_wrong(&verdict(passed(), &[204, 204, 204], &hidden)));
        assert!(is_wrong(&verdict(passed(), &[204], &both)));
        assert!(is_wrong(&verdict(passed(), &[400], &[])));
        assert_eq!(verdict(Expect::refused(), &[400], &[]), Verdict::Rejected);
        assert_eq!(verdict(Expect::refused(), &[], &[]), Verdict::Rejected);
        assert!(is_wrong(&verdict(Expect::refused(), &[502], &[])));
        assert!(is_wrong(&verdict(
            Expect::refused(),
            &[400, 204],
            &[Seen::after()]
        )));
        assert!(is_wrong(&verdict(Expect::refused(), &[204, 204], &both)));
        let declined = verdict(Expect::declined(), &[400, 204], &[Seen::after()]);
        assert_eq!(declined, Verdict::Rejected);
        let either = || Expect::either("hello");
        assert_eq!(verdict(either(), &[204, 204], &both), Verdict::Passed);
        assert_eq!(verdict(either(), &[400], &[]), Verdict::Rejected);
        assert!(is_wrong(&verdict(either(), &[400], &both[..1])));
        assert!(is_wrong(&verdict(either(), &[204, 204], &other)));
    }

    #[test]
    fn responses_come_in_the_order_of_the_requests() {
        let mut said = heard(&[204, 204]);
        for (response, target) in said.responses.iter_mut().zip(["/after", "/v"]) {
            response.target = Some(target.into());
        }
        let vector = Vector::new("v", "", Expect::passed(""));
        let both = found(&[Seen::vector(""), Seen::after()]);
        assert!(is_wrong(&judge(&vector, 0, &said, &both)));
        said.responses.reverse();
        assert_eq!(judge(&vector, 0, &said, &both), Verdict::Passed);
    }

    #[test]
    fn marks_are_replaced_by_numbers() {
        assert_eq!(marked(b"VVVVV a VVVVVVVVVV", 42), b"00042 a 0004200042");
    }
}
