//! Compares the figures of a tool with the truth.

use std::fmt;

use gatebench_upstream::fault_server::{Account, Quantiles, Truth};

use super::case::{Case, Job};
use super::tool::{Said, Times};
use crate::table::{Table, ms, ms_or_dash};

/// A quantile is correct if it differs from the truth by at most this share of the truth, or by at
/// most [`TOLERANCE_NS`].
const TOLERANCE_SHARE: f64 = 0.02;
/// The smallest tolerance, in nanoseconds; see [`TOLERANCE_SHARE`].
const TOLERANCE_NS: f64 = 100_000.0;
/// If the examined quantile of the lateness of requests or responses exceeds this, the machine
/// stalled.
const STOOD_STILL_NS: f64 = 1_000_000.0;
/// If the engine waited for its core for a larger share of the time than this, other programs used
/// the core.
const WAITED_SHARE: f64 = 0.01;

/// The verdict on a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Right,
    /// The machine stalled, and every judged quantile that the engine printed agrees with the truth
    /// or the ledger. Contains the evidence of the stall.
    ByLedger(String),
    /// Figures are wrong, and noise on the machine does not explain the deviations. Contains a
    /// description of each wrong figure.
    Wrong(Vec<String>),
    /// Figures deviate, but the machine was too noisy for a verdict. Contains the evidence and, for
    /// a case, the names of the quantiles that agree with neither the truth nor the ledger.
    Noisy(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Right => f.write_str("right"),
            Self::ByLedger(noise) => {
                write!(
                    f,
                    "differs from the truth, but agrees with the ledger ({noise})"
                )
            }
            Self::Wrong(reasons) => write!(f, "WRONG: {}", reasons.join("; ")),
            Self::Noisy(what) => write!(f, "not judged on this machine: {what}"),
        }
    }
}

impl Verdict {
    pub fn of(reasons: Vec<String>) -> Self {
        if reasons.is_empty() {
            Self::Right
        } else {
            Self::Wrong(reasons)
        }
    }
}

/// One run of a case, with the engine's figures, the truth and the verdict.
pub struct Trial {
    pub name: &'static str,
    pub job: Job,
    pub said: Said,
    pub truth: Truth,
    pub account: Account,
    pub verdict: Verdict,
}

impl Trial {
    pub fn new(case: &Case, job: Job, said: Said, account: Account) -> Result<Self, String> {
        let truth = job.truth()?;
        let verdict = judged(&said, &account, &job, &truth, case.stands_still);
        Ok(Self {
            name: case.name,
            job,
            said,
            truth,
            account,
            verdict,
        })
    }

    pub fn write(&self, table: &mut Table) {
        let ledger = seen(&self.account);
        let said = QUANTILES.map(|(_, _, pick)| pick(&self.said.times));
        for (number, (name, q, _)) in QUANTILES.iter().enumerate() {
            let truth = self.truth.quantile_ns(*q) as f64;
            let off = said[number].map(|said| said - truth);
            let percent = off.map_or("–".into(), |off| format!("{:+.2}", off / truth * 100.0));
            let micros = off.map_or("–".into(), |off| format!("{:+.0}", off / 1e3));
            table.row([
                self.name.to_owned(),
                (*name).to_owned(),
                ms(truth),
                ms_or_dash(ledger.map(|it| it[number])),
                ms_or_dash(said[number]),
                percent,
                micros,
            ]);
        }
        let Account {
            received, reset, ..
        } = self.account;
        table.row([
            self.name.to_owned(),
            "sent, failed".to_owned(),
            format!("{}, {}", self.truth.response_ns.len(), self.truth.reset),
            format!("{received}, {reset}"),
            format!("{}, {}", self.said.sent(), self.said.failed),
            String::new(),
            String::new(),
        ]);
    }
}

pub fn table() -> Table {
    let head = [
        "case",
        "",
        "truth ms",
        "ledger ms",
        "gatebench ms",
        "error %",
        "error µs",
    ];
    Table::new(2, head)
}

type Pick = fn(&Times) -> Option<f64>;

/// The compared quantiles: name, share, and a function that picks the tool's figure.
pub const QUANTILES: [(&str, f64, Pick); 5] = [
    ("p50", 0.5, |it| it.p50),
    ("p90", 0.9, |it| it.p90),
    ("p99", 0.99, |it| it.p99),
    ("p99.9", 0.999, |it| it.p99_9),
    ("max", 1.0, |it| it.max),
];

pub fn count_mismatches(said: &Said, account: &Account, job: &Job) -> Vec<String> {
    let due = job.arrivals().count;
    let pairs = [
        (
            "requests of the warm-up (ledger, schedule)",
            account.warm_up,
            job.warm_up(),
        ),
        (
            "requests due (schedule, gatebench)",
            due,
            said.sent() + said.dropped,
        ),
        (
            "requests received (ledger, gatebench)",
            account.received,
            said.sent(),
        ),
        (
            "responses (ledger, gatebench)",
            account.answered,
            said.completed,
        ),
        ("resets (ledger, gatebench)", account.reset, said.failed),
    ];
    let off = pairs.iter().filter(|(_, ledger, said)| ledger != said);
    off.map(|(what, ledger, said)| format!("{what}: {ledger} and {said}, which must be equal"))
        .collect()
}

pub fn times_off(times: &Times, truth: &Truth) -> Vec<String> {
    let count = truth.response_ns.len() as u64;
    quantiles_off(times, count, |number| {
        truth.quantile_ns(QUANTILES[number].1) as f64
    })
}

/// Describes every quantile in `times`, except the maximum, that is not near its true value or is
/// missing. `true_ns` returns the true value for an index in [`QUANTILES`], and `count` is the
/// number of requests. A quantile with fewer than ten requests above it may be missing.
pub fn quantiles_off(times: &Times, count: u64, true_ns: impl Fn(usize) -> f64) -> Vec<String> {
    let mut off = Vec::new();
    for (number, (name, q, pick)) in QUANTILES[..4].iter().enumerate() {
        let true_ns = true_ns(number);
        let Some(said_ns) = pick(times) else {
            if count as f64 * (1.0 - q) >= 10.0 {
                off.push(format!("gatebench printed no {name}"));
            }
            continue;
        };
        if !is_near(said_ns, true_ns) {
            off.push(format!(
                "{name} is {} ms instead of {} ms",
                ms(said_ns),
                ms(true_ns)
            ));
        }
    }
    off
}

fn is_near(said_ns: f64, true_ns: f64) -> bool {
    (said_ns - true_ns).abs() <= TOLERANCE_NS.max(true_ns * TOLERANCE_SHARE)
}

/// Returns the ledger's response times in the order of [`QUANTILES`], or `None` if the ledger does
/// not know the rate of the load.
pub fn seen(account: &Account) -> Option<[f64; 5]> {
    let it = &account.at_rate.as_ref()?.response_ns;
    Some([it.p50, it.p90, it.p99, it.p99_9, it.max].map(|ns| ns as f64))
}

/// Judges a run of a case. The counts of the engine, the ledger and the schedule must always agree.
/// Times must agree with the truth, or with the ledger if the machine stalled.
fn judged(said: &Said, account: &Account, job: &Job, truth: &Truth, stands_still: bool) -> Verdict {
    let miscounted = count_mismatches(said, account, job);
    let off = times_off(&said.times, truth);
    if !miscounted.is_empty() || off.is_empty() {
        return Verdict::of(miscounted.into_iter().chain(off).collect());
    }
    let Some(noise) = stood_still(said, account, stands_still) else {
        return Verdict::Wrong(off);
    };
    let ledger = seen(account).unwrap_or_default();
    let quantiles = QUANTILES[..4].iter().enumerate();
    let unclear: Vec<&str> = quantiles
        .filter(|(number, (_, q, pick))| {
            let said_ns = pick(&said.times);
            let truths = [truth.quantile_ns(*q) as f64, ledger[*number]];
            said_ns.is_some_and(|said_ns| truths.iter().all(|truth| !is_near(said_ns, *truth)))
        })
        .map(|(_, (name, ..))| *name)
        .collect();
    if unclear.is_empty() {
        Verdict::ByLedger(noise)
    } else {
        Verdict::Noisy(format!("{}: {noise}", unclear.join(" and ")))
    }
}

/// Returns the evidence that the machine stalled, if there is any. If the upstream stalls on
/// purpose, the tails are no evidence, and p90 is examined instead of p99.9.
fn stood_still(said: &Said, account: &Account, stands_still: bool) -> Option<String> {
    let (over_ns, lag_ns) = (&account.overshoot_ns, lag(account));
    let percent = said.waited_share * 100.0;
    let waited = format!("the load generator waited for its core {percent:.1} % of the time");
    let waited = (said.waited_share > WAITED_SHARE).then_some(waited);
    let lateness = &said.lateness;
    waited.or_else(|| {
        if stands_still {
            late("p90", lateness.p90, lag_ns.p90, over_ns.p90)
        } else {
            late("p99.9", lateness.p99_9, lag_ns.p99_9, over_ns.p99_9)
        }
    })
}

/// Returns the lateness of requests at the upstream, or zeros if the ledger does not know the rate
/// of the load.
fn lag(account: &Account) -> Quantiles {
    let at_rate = account.at_rate.clone().unwrap_or_default();
    at_rate.lag_ns
}

/// Returns the verdict on these deviations: [`Verdict::Noisy`] if the machine may have caused them.
pub fn excused(
    reasons: Vec<String>,
    said: &Said,
    account: &Account,
    stands_still: bool,
) -> Verdict {
    match stood_still(said, account, stands_still).filter(|_| !reasons.is_empty()) {
        Some(noise) => Verdict::Noisy(noise),
        None => Verdict::of(reasons),
    }
}

fn late(name: &str, sent_ns: Option<f64>, received_ns: u64, responded_ns: u64) -> Option<String> {
    let found = [
        ("requests were sent", sent_ns.unwrap_or(0.0)),
        ("requests arrived", received_ns as f64),
        ("responses were sent", responded_ns as f64),
    ];
    let (what, late_ns) = found
        .into_iter()
        .find(|(_, late_ns)| *late_ns > STOOD_STILL_NS)?;
    Some(format!("{what} late ({name}: {} ms)", ms(late_ns)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_upstream::fault_server::AtRate;

    use super::super::case::CASES;
    use super::*;

    /// The figures of an engine that reports the exact truth for the case `stall`.
    fn honest() -> (Said, Account, Truth) {
        let truth = CASES[0].job(false).truth().unwrap();
        let at = |q: f64| Some(truth.quantile_ns(q) as f64);
        let times = Times {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: at(1.0),
        };
        let said = Said {
            times,
            completed: 14_000,
            ..Said::default()
        };
        let account = Account {
            received: 14_000,
            warm_up: 1_000,
            answered: 14_000,
            ..Account::default()
        };
        (said, account, truth)
    }

    fn verdict(said: &Said, account: &Account) -> Verdict {
        let case = &CASES[0];
        Trial::new(case, case.job(false), said.clone(), account.clone())
            .unwrap()
            .verdict
    }

    #[test]
    fn the_truth_and_small_deviations_are_right() {
        let (mut said, account, _) = honest();
        assert_eq!(verdict(&said, &account), Verdict::Right);
        said.times.p50 = Some(5_099_000.0);
        said.times.p99 = Some(865e6 * 1.019);
        assert_eq!(verdict(&said, &account), Verdict::Right);
        said.times.p50 = Some(5_101_000.0);
        let Verdict::Wrong(reasons) = verdict(&said, &account) else {
            panic!("a wrong median was accepted");
        };
        assert_eq!(reasons, ["p50 is 5.10 ms instead of 5.00 ms"]);
    }

    #[test]
    fn a_missing_request_is_wrong() {
        let (mut said, account, _) = honest();
        said.completed -= 1;
        let Verdict::Wrong(reasons) = verdict(&said, &account) else {
            panic!("a missing request was accepted");
        };
        assert_eq!(reasons.len(), 3, "{reasons:?}");
    }

    #[test]
    fn a_machine_that_stalled_is_judged_by_the_ledger() {
        let (mut said, mut account, _) = honest();
        said.times.p99_9 = Some(2e9);
        assert!(matches!(verdict(&said, &account), Verdict::Wrong(_)));
        // A wait for a core does not invalidate correct figures. Deviations are accepted only if
        // the ledger agrees with them.
        said.waited_share = 0.02;
        assert!(matches!(verdict(&said, &account), Verdict::Noisy(_)));
        let at = |pick: fn(&Times) -> Option<f64>| pick(&said.times).unwrap() as u64;
        let response_ns = Quantiles {
            p50: at(|it| it.p50),
            p90: at(|it| it.p90),
            p99: at(|it| it.p99),
            p99_9: at(|it| it.p99_9),
            ..Quantiles::default()
        };
        account.at_rate = Some(AtRate {
            response_ns,
            ..AtRate::default()
        });
        assert!(matches!(verdict(&said, &account), Verdict::ByLedger(_)));
        said.completed -= 1;
        assert!(matches!(verdict(&said, &account), Verdict::Wrong(_)));
        let (mut said, account, _) = honest();
        said.waited_share = 0.02;
        assert_eq!(verdict(&said, &account), Verdict::Right);
    }
}
