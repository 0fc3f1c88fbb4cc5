//! The account of what happened at the upstream: exact counts, and histograms of fixed size for
//! durations, such as service times and the gaps between arrivals.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Arrivals;

/// The longest time that the histograms record: two hours. Longer times are recorded as two hours.
const HIGHEST_NS: u64 = 7_200_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// Requests are back to back if the gap between them is less than this share of the nominal gap.
const BACK_TO_BACK_SHARE: f64 = 0.1;

/// The account of an upstream since its start, or since the last `POST` to
/// [`BEGIN_PATH`](super::BEGIN_PATH) or [`RESET_PATH`](crate::RESET_PATH).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Time 0, in nanoseconds of `CLOCK_MONOTONIC`: the arrival of the first request. With a
    /// warm-up, it is the time at which the first request after the warm-up is due, derived from
    /// the least delayed request of the warm-up.
    pub epoch_ns: Option<u64>,
    /// The number of requests in the warm-up, which no other count includes.
    pub warm_up: u64,
    /// The number of complete requests for a case. A request that is not included in `answered`,
    /// `reset` or `abandoned` is still being served.
    pub received: u64,
    /// The number of responses whose last byte was queued for sending.
    pub answered: u64,
    /// The number of responses that were cut off by a planned reset.
    pub reset: u64,
    /// The number of requests whose client disconnected, or canceled the HTTP/2 stream, before the
    /// end of the response.
    pub abandoned: u64,
    /// The total size of the bodies of complete responses, in bytes.
    pub body_bytes: u64,
    /// The time from a request's arrival until the last byte of its response is queued, or until
    /// the reset.
    pub service_ns: Quantiles,
    /// The delay beyond the time that the case sets, which shows how accurate this upstream is.
    pub overshoot_ns: Quantiles,
    /// The time from one arrival to the next.
    pub gap_ns: Quantiles,
    /// The arrivals, compared with a schedule; `None` unless the rate is known.
    pub at_rate: Option<AtRate>,
}

/// Arrivals, compared with a schedule that begins at the account's epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AtRate {
    /// The number of arrivals per second in the schedule.
    pub rate_per_second: f64,
    /// The number of arrivals that followed the previous arrival within a tenth of the nominal gap.
    pub back_to_back: u64,
    /// The time from when the n-th arrival was due to the end of the response to the n-th request.
    pub response_ns: Quantiles,
    /// The time from when the n-th arrival was due to the arrival of the n-th request.
    pub lag_ns: Quantiles,
}

/// Statistics of a histogram. All times, even `min` and `max`, are in nanoseconds and have three
/// significant digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    pub count: u64,
    pub min: u64,
    pub mean: f64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p99_9: u64,
    pub max: u64,
}

impl Quantiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            count: histogram.len(),
            min: histogram.min(),
            mean: histogram.mean(),
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            p99_9: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }
}

/// The schedule that an account compares requests with. It is known when the account begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// The number of uniform arrivals per second, if known.
    pub(super) rate_per_second: Option<f64>,
    /// The number of requests before the first request that counts; 0 without a rate.
    pub(super) warm_up: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    /// The index of the request; 0 in the warm-up.
    pub(super) index: u64,
    /// The time of arrival, counted from the epoch; 0 before the epoch.
    pub(super) arrival_ns: u64,
    /// The time of arrival by the clock.
    pub(super) received_ns: u64,
    /// The time at which the request was due, by the clock; `None` in the warm-up, or if no rate is
    /// set.
    intended_ns: Option<u64>,
    is_counted: bool,
    /// The number of the account that the request belongs to.
    turn: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The whole response was sent; its body had this number of bytes.
    Answered(u64),
    Reset,
    Abandoned,
}

/// The current account, which the workers share. Each request takes its lock twice: on arrival and
/// at its end.
#[derive(Debug)]
pub(super) struct Accounts(Mutex<Growing>);

#[derive(Debug)]
struct Growing {
    turn: u64,
    counts: Account,
    plan: Plan,
    last_ns: Option<u64>,
    back_to_back: u64,
    service: Histogram<u64>,
    overshoot: Histogram<u64>,
    gap: Histogram<u64>,
    response: Histogram<u64>,
    lag: Histogram<u64>,
}

impl Growing {
    fn new(turn: u64, plan: Plan) -> Self {
        Self {
            turn,
            counts: Account::default(),
            plan,
            last_ns: None,
            back_to_back: 0,
            service: histogram(),
            overshoot: histogram(),
            gap: histogram(),
            response: histogram(),
            lag: histogram(),
        }
    }

    /// Returns time 0 as it is known after this arrival. With a warm-up, the first request may have
    /// been late, so time 0 is derived from the least delayed request of the warm-up.
    fn epoch_ns(&mut self, now_ns: u64, rate: Option<Arrivals>) -> u64 {
        let Plan { warm_up, .. } = self.plan;
        let ahead = warm_up.saturating_sub(self.counts.warm_up);
        let ahead_ns = rate.map_or(0, |it| it.due_ns(warm_up) - it.due_ns(warm_up - ahead));
        let says_ns = now_ns + ahead_ns;
        let known_ns = self.counts.epoch_ns.unwrap_or(says_ns);
        let epoch_ns = if ahead > 0 {
            known_ns.min(says_ns)
        } else {
            known_ns
        };
        self.counts.epoch_ns = Some(epoch_ns);
        epoch_ns
    }

    fn receive(&mut self, now_ns: u64) -> Receipt {
        let rate = self.plan.rate_per_second;
        let rate = rate.map(|rate| Arrivals::of(rate, 0.0));
        let epoch_ns = self.epoch_ns(now_ns, rate);
        let last_ns = self.last_ns.replace(now_ns);
        let mut receipt = Receipt {
            index: 0,
            arrival_ns: 0,
            received_ns: now_ns,
            intended_ns: None,
            is_counted: false,
            turn: self.turn,
        };
        if self.counts.warm_up < self.plan.warm_up {
            self.counts.warm_up += 1;
            return receipt;
        }
        receipt.is_counted = true;
        receipt.index = self.counts.received;
        receipt.arrival_ns = now_ns.saturating_sub(epoch_ns);
        receipt.intended_ns = rate.map(|it| epoch_ns + it.due_ns(receipt.index));
        self.counts.received += 1;
        if let Some(last_ns) = last_ns {
            // Another worker may have read the clock a little later but recorded its arrival first.
            let gap_ns = now_ns.saturating_sub(last_ns);
            self.gap.saturating_record(gap_ns);
            let close_ns = rate.map_or(0.0, |it| it.due_ns(1) as f64 * BACK_TO_BACK_SHARE);
            self.back_to_back += u64::from((gap_ns as f64) < close_ns);
        }
        receipt
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(HIGHEST_NS, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants and valid")
}

impl Accounts {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Growing::new(0, Plan::default())))
    }

    /// The new account does not count the requests that are still being served.
    pub(super) fn begin(&self, plan: Plan) {
        let mut growing = self.lock();
        *growing = Growing::new(growing.turn + 1, plan);
    }

    pub(super) fn receive(&self, now_ns: u64) -> Receipt {
        self.lock().receive(now_ns)
    }

    /// Records the end of a request at `now_ns`. The case prescribed the time `due_ns`.
    pub(super) fn end(&self, receipt: &Receipt, end: End, due_ns: u64, now_ns: u64) {
        let mut growing = self.lock();
        let growing = &mut *growing;
        if receipt.turn != growing.turn || !receipt.is_counted {
            return;
        }
        match end {
            End::Abandoned => {
                growing.counts.abandoned += 1;
                return;
            }
            End::Reset => growing.counts.reset += 1,
            End::Answered(bytes) => {
                growing.counts.answered += 1;
                growing.counts.body_bytes += bytes;
            }
        }
        let service_ns = now_ns.saturating_sub(receipt.received_ns);
        growing.service.saturating_record(service_ns);
        let overshoot_ns = now_ns.saturating_sub(due_ns);
        growing.overshoot.saturating_record(overshoot_ns);
        if let Some(intended_ns) = receipt.intended_ns {
            let response_ns = now_ns.saturating_sub(intended_ns);
            let lag_ns = receipt.received_ns.saturating_sub(intended_ns);
            growing.response.saturating_record(response_ns);
            growing.lag.saturating_record(lag_ns);
        }
    }

    pub(super) fn account(&self) -> Account {
        let growing = self.lock();
        Account {
            service_ns: Quantiles::of(&growing.service),
            overshoot_ns: Quantiles::of(&growing.overshoot),
            gap_ns: Quantiles::of(&growing.gap),
            at_rate: growing.plan.rate_per_second.map(|rate_per_second| AtRate {
                rate_per_second,
                back_to_back: growing.back_to_back,
                response_ns: Quantiles::of(&growing.response),
                lag_ns: Quantiles::of(&growing.lag),
            }),
            ..growing.counts.clone()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Growing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at_rate(rate_per_second: f64, warm_up: u64) -> Plan {
        Plan {
            rate_per_second: Some(rate_per_second),
            warm_up,
        }
    }

    #[test]
    fn time_begins_when_the_warm_up_ends() {
        let accounts = Accounts::new();
        accounts.begin(at_rate(100.0, 2));
        let receipts = [507, 510, 523, 529].map(|at_ms| accounts.receive(at_ms * MS));
        let seen = receipts.map(|it| (it.index, it.arrival_ns / MS, it.is_counted));
        // The first request is late, but the second is not, so the counted requests are due at 520
        // and 530 ms.
        let expected = [(0, 0, false), (0, 0, false), (0, 3, true), (1, 9, true)];
        assert_eq!(seen, expected);
        for receipt in &receipts {
            accounts.end(receipt, End::Answered(1), receipt.received_ns, 530 * MS);
        }
        let account = accounts.account();
        assert_eq!((account.warm_up, account.received), (2, 2));
        assert_eq!(account.answered, 2);
        assert_eq!(account.epoch_ns, Some(520 * MS));
        assert_eq!(account.at_rate.unwrap().response_ns.count, 2);
    }

    #[test]
    fn requests_are_compared_with_the_schedule_from_the_first() {
        let accounts = Accounts::new();
        accounts.begin(at_rate(100.0, 0));
        // The requests are due 0, 10, 20 and 30 ms after the first. The third is 5 ms late, and the
        // fourth is on time.
        for at_ms in [1_000, 1_010, 1_025, 1_030] {
            let receipt = accounts.receive(at_ms * MS);
            let due_ns = receipt.received_ns + 2 * MS;
            accounts.end(&receipt, End::Answered(7), due_ns, due_ns + MS);
        }
        let account = accounts.account();
        assert_eq!((account.received, account.answered), (4, 4));
        assert_eq!(account.epoch_ns, Some(1_000 * MS));
        assert_eq!(account.body_bytes, 28);
        let near = |found: u64, ms: u64| found.abs_diff(ms * MS) <= ms * MS / 500;
        assert!(near(account.service_ns.max, 3) && near(account.overshoot_ns.max, 1));
        let at_rate = account.at_rate.unwrap();
        assert!(near(at_rate.lag_ns.max, 5), "{at_rate:?}");
        assert!(near(at_rate.response_ns.max, 8) && near(at_rate.response_ns.p50, 3));
        assert_eq!(at_rate.back_to_back, 0);
    }

    #[test]
    fn a_burst_is_back_to_back() {
        let accounts = Accounts::new();
        accounts.begin(at_rate(1_000.0, 0));
        for at_us in [0, 50, 99, 1_000, 1_100] {
            accounts.receive(at_us * 1_000 + MS);
        }
        assert_eq!(accounts.account().at_rate.unwrap().back_to_back, 2);
    }

    #[test]
    fn requests_from_before_a_start_are_not_counted_after_it() {
        let accounts = Accounts::new();
        let early = accounts.receive(MS);
        accounts.begin(Plan::default());
        accounts.end(&early, End::Reset, MS, MS);
        assert_eq!(accounts.account(), Account::default());
        assert_eq!(accounts.receive(5 * MS).index, 0);
    }
}
