//! Counts checks and failures as the documents do: every check of every request.

use gatebench_model::{Request, Scenario};
use gatebench_report::figures::FigureCell;
use gatebench_report::format::{counted, grouped};
use gatebench_store::Counts;

use super::measured::Load;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    made: u64,
    failed: u64,
}

/// The text `100 %`, or the numbers of failures and checks. A request without a response fails all
/// its checks. Empty if no checks were made, or if the requests of a group have different numbers
/// of checks, because the number of checks made is then unknown.
pub(super) fn cell(loads: &[Load<'_>], scenario: Option<&Scenario>) -> FigureCell {
    let held = scenario.and_then(|scenario| {
        let all = loads.iter().map(|load| of_load(load, scenario));
        all.sum::<Option<Held>>()
    });
    FigureCell {
        words: held.filter(|it| it.made > 0).map(words),
        ..FigureCell::default()
    }
}

impl std::iter::Sum for Held {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            made: a.made + b.made,
            failed: a.failed + b.failed,
        })
    }
}

fn of_load(load: &Load<'_>, scenario: &Scenario) -> Option<Held> {
    let groups = scenario.groups();
    if load.phase.groups.is_empty() {
        let each = each(&groups.first()?.requests)?;
        return Some(of_counts(&load.phase.counts, each));
    }
    let records = load.phase.groups.iter();
    let held = records.map(|record| {
        let group = groups.iter().find(|it| it.name == record.name)?;
        Some(of_counts(&record.counts, each(&group.requests)?))
    });
    held.sum()
}

/// The number of checks of each request, if it is the same for all.
fn each(requests: &[Request]) -> Option<u64> {
    let first = requests.first()?.checks.len();
    let same = requests.iter().all(|it| it.checks.len() == first);
    same.then_some(first as u64)
}

fn of_counts(counts: &Counts, each: u64) -> Held {
    let unanswered: u64 = counts.errors.values().sum();
    let failed: u64 = counts.checks_failed.values().sum();
    Held {
        made: (counts.completed + unanswered) * each,
        failed: failed + unanswered * each,
    }
}

fn words(held: Held) -> String {
    if held.failed == 0 {
        return "100 %".into();
    }
    let failed = counted(held.failed, "failure");
    format!("{failed} in {}", grouped(held.made as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_of_every_request_counts() {
        let counts = Counts {
            completed: 998,
            errors: [("reset".to_owned(), 2)].into(),
            checks_failed: [("status is 200".to_owned(), 5)].into(),
            ..Counts::default()
        };
        let held = of_counts(&counts, 3);
        assert_eq!(
            held,
            Held {
                made: 3_000,
                failed: 11
            }
        );
        assert_eq!(words(held), "11 failures in 3,000");
        assert_eq!(words(Held { failed: 0, ..held }), "100 %");
    }
}
