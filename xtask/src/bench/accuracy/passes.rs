//! A steady case in short passes, for a machine that stands still now and then.
//!
//! Every pass must have the ledger's counts. Its response times count where the machine did not stand still
//! in it, which is told by what a slow answer does not move: when requests left, when they came, and by how
//! much answers left late at the upstream. The histograms of those passes are added up.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gatebench_upstream::pathology::{Account, AtRate, Quantiles, Truth};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::Bench;
use super::case::{Case, PASSES};
use super::folder::Folder;
use super::judge::{self, Trial, Verdict};
use super::origin::Origin;
use super::tool::{self, Said, Times};

/// A machine that is quiet in fewer than one pass of six is not fit for this.
const TRIES_MAX: usize = 6 * PASSES;
/// A percentile is told where so many values lie beyond it.
const BEYOND: f64 = 10.0;

/// Drives a steady case until it had enough quiet passes, or too many that were not.
pub fn run(bench: &Bench<'_>, case: &Case) -> Result<Trial, String> {
    let folder = Folder::new(case.name)?;
    let mut quiet = Quiet::default();
    let mut reasons = Vec::new();
    let mut noise = None;
    for number in 1..=TRIES_MAX {
        let job = case.pass(number as u64);
        eprintln!(
            "{}: pass {number}, {} of {PASSES} quiet",
            case.name, quiet.passes
        );
        let origin = Origin::start(bench.programs)?;
        origin.begin(&job, job.warm_up())?;
        let log = folder.path("pass.hlog");
        let said = tool::gatebench_logged(bench.programs, &origin.url(&job.target), &job, &log)?;
        let account = origin.account()?;
        let off = judge::counts_off(&said, &account, &job).into_iter();
        reasons.extend(off.map(|it| format!("pass {number}: {it}")));
        match judge::stood_still_at_all(&said, &account) {
            Some(what) => noise = Some(what),
            None => quiet.add(&said, &account, job.truth()?, &responses(&log)?)?,
        }
        if quiet.passes == PASSES {
            break;
        }
    }
    quiet.judged(case, reasons, noise)
}

/// What the quiet passes come to.
#[derive(Default)]
struct Quiet {
    passes: usize,
    responses: Option<Histogram<u64>>,
    said: Said,
    accounts: Vec<Account>,
    truth_ns: Vec<u64>,
    truth_answered: u64,
    truth_reset: u64,
}

impl Quiet {
    fn add(
        &mut self,
        said: &Said,
        account: &Account,
        truth: Truth,
        responses: &Histogram<u64>,
    ) -> Result<(), String> {
        self.passes += 1;
        self.said.answered += said.answered;
        self.said.failed += said.failed;
        self.accounts.push(account.clone());
        self.truth_ns.extend(truth.response_ns);
        self.truth_answered += truth.answered;
        self.truth_reset += truth.reset;
        let sum = self.responses.get_or_insert_with(|| {
            let mut empty = Histogram::new_from(responses);
            empty.auto(true);
            empty
        });
        sum.add(responses)
            .map_err(|error| format!("the passes do not add up: {error}"))
    }

    fn judged(
        mut self,
        case: &Case,
        mut reasons: Vec<String>,
        noise: Option<String>,
    ) -> Result<Trial, String> {
        self.truth_ns.sort_unstable();
        let truth = Truth {
            answered: self.truth_answered,
            reset: self.truth_reset,
            body_bytes: 0,
            response_ns: self.truth_ns,
        };
        self.said.times = self.responses.as_ref().map(times).unwrap_or_default();
        reasons.extend(judge::times_off(&self.said.times, &truth));
        let verdict = match noise.filter(|_| self.passes < PASSES) {
            Some(what) => Verdict::Noisy(format!(
                "{} of {PASSES} passes were quiet; in the last that was not, {what}",
                self.passes
            )),
            None => Verdict::of(reasons),
        };
        Ok(Trial {
            name: case.name,
            job: case.job(false),
            said: self.said,
            account: together(&self.accounts),
            truth,
            verdict,
        })
    }
}

/// Counts added; of the response times, which are told as quantiles only, the median of the passes.
fn together(accounts: &[Account]) -> Account {
    let sum = |count: fn(&Account) -> u64| accounts.iter().map(count).sum();
    let of = |pick: fn(&Quantiles) -> u64| {
        let told = accounts.iter().filter_map(|it| it.at_rate.as_ref());
        let mut values: Vec<u64> = told.map(|it| pick(&it.response_ns)).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let response_ns = Quantiles {
        p50: of(|it| it.p50),
        p90: of(|it| it.p90),
        p99: of(|it| it.p99),
        p99_9: of(|it| it.p99_9),
        max: of(|it| it.max),
        ..Quantiles::default()
    };
    Account {
        received: sum(|it| it.received),
        answered: sum(|it| it.answered),
        reset: sum(|it| it.reset),
        at_rate: Some(AtRate {
            response_ns,
            ..AtRate::default()
        }),
        ..Account::default()
    }
}

fn times(histogram: &Histogram<u64>) -> Times {
    let at = |q: f64| {
        let is_told = histogram.len() as f64 * (1.0 - q) >= BEYOND - 1e-6;
        is_told.then(|| histogram.value_at_quantile(q) as f64)
    };
    Times {
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p99_9: at(0.999),
        max: Some(histogram.max() as f64),
    }
}

/// The response times of all seconds of a log.
fn responses(log: &Path) -> Result<Histogram<u64>, String> {
    let failed = |error: String| format!("{}: {error}", log.display());
    let text = fs::read(log).map_err(|error| failed(error.to_string()))?;
    let mut deserializer = Deserializer::new();
    let mut sum: Option<Histogram<u64>> = None;
    for entry in IntervalLogIterator::new(&text) {
        let entry = entry.map_err(|_| failed("no interval log".into()))?;
        let LogEntry::Interval(interval) = entry else {
            continue;
        };
        if interval.tag().is_none_or(|tag| tag.as_str() != "response") {
            continue;
        }
        let bytes = BASE64_STANDARD
            .decode(interval.encoded_histogram())
            .map_err(|error| failed(error.to_string()))?;
        let mut second: Histogram<u64> = deserializer
            .deserialize(&mut &bytes[..])
            .map_err(|error| failed(error.to_string()))?;
        match &mut sum {
            Some(sum) => sum.add(second).map_err(|error| failed(error.to_string()))?,
            None => {
                second.auto(true);
                sum = Some(second);
            }
        }
    }
    sum.ok_or_else(|| failed("it has no response times".into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::case::CASES;
    use super::*;

    fn pass(value_ns: u64, truth_ns: u64, quiet: &mut Quiet) {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(value_ns, 2_000).unwrap();
        let truth = Truth {
            response_ns: vec![truth_ns; 2_000],
            answered: 2_000,
            reset: 0,
            body_bytes: 0,
        };
        let said = Said {
            answered: 2_000,
            ..Said::default()
        };
        let account = Account {
            received: 2_000,
            ..Account::default()
        };
        quiet.add(&said, &account, truth, &histogram).unwrap();
    }

    #[test]
    fn quiet_passes_are_added_and_judged_together() {
        let mut quiet = Quiet::default();
        for number in 0..PASSES as u64 {
            pass(2_050_000 + number, 2_000_000, &mut quiet);
        }
        let trial = quiet.judged(&CASES[1], Vec::new(), None).unwrap();
        assert_eq!(trial.verdict, Verdict::Right);
        assert_eq!(
            (trial.said.answered, trial.account.received),
            (14_000, 14_000)
        );
        assert!(trial.said.times.p99_9.is_some());
    }

    #[test]
    fn what_is_off_is_wrong_and_too_few_quiet_passes_are_noise() {
        let mut quiet = Quiet::default();
        for _ in 0..PASSES {
            pass(2_150_000, 2_000_000, &mut quiet);
        }
        let trial = quiet.judged(&CASES[1], Vec::new(), None).unwrap();
        assert!(matches!(trial.verdict, Verdict::Wrong(_)));
        let mut quiet = Quiet::default();
        pass(2_000_000, 2_000_000, &mut quiet);
        let noise = Some("requests left late".into());
        let trial = quiet.judged(&CASES[1], Vec::new(), noise).unwrap();
        assert!(matches!(trial.verdict, Verdict::Noisy(_)));
    }
}
