//! The state that the workers of the pathology origin share, and its control paths.

use std::io;

use gatebench_net::Io;
use gatebench_net::workers::{Seat, Service};

use super::account::{Accounts, Plan};
use super::connection::Connection;
use super::exchange::Exchange;
use super::{ACCOUNT_PATH, BEGIN_PATH};
use crate::asked::Asked;
use crate::connection::Origin;
use crate::control::{self, RESET_PATH};
use crate::ledger::Ledger;
use crate::response::Response;
use crate::worker;

/// The time before a deadline that a worker spends polling instead of sleeping, because a sleeping
/// thread wakes up later than the accuracy of this origin allows.
const SPIN_NS: u64 = 150_000;
/// The time before a deadline that a worker with a dedicated core spends polling. While a response
/// is always due within this time, such a worker never sleeps, so it receives requests without
/// delay.
const SPIN_PINNED_NS: u64 = 2_000_000;

pub(crate) struct FaultServer {
    pub(super) accounts: Accounts,
    ledger: Ledger,
    spin_ns: u64,
}

pub(super) type Env<'a, 'p, I> = crate::env::Env<'a, I, &'p FaultServer>;

impl FaultServer {
    pub(crate) fn new(workers: usize, are_pinned: bool, streams: usize) -> Self {
        Self {
            accounts: Accounts::new(),
            ledger: Ledger::new(workers, streams),
            spin_ns: if are_pinned { SPIN_PINNED_NS } else { SPIN_NS },
        }
    }

    pub(super) fn control(&self, asked: &Asked<'_>, scratch: &mut Vec<u8>) -> Response {
        let (path, method) = (asked.path, asked.method);
        match (path, method) {
            (ACCOUNT_PATH, "GET") => self.account(scratch),
            (ACCOUNT_PATH, _) => Response::not_allowed("GET"),
            (BEGIN_PATH, "POST") => match plan(asked.query) {
                Some(plan) => {
                    self.accounts.begin(plan);
                    self.ledger.reset();
                    self.account(scratch)
                }
                None => Response::error(400, NO_PLAN),
            },
            (BEGIN_PATH, _) => Response::not_allowed("POST"),
            _ => {
                if (path, method) == (RESET_PATH, "POST") {
                    self.accounts.begin(Plan::default());
                }
                control::response(method, path, &self.ledger, scratch)
            }
        }
    }

    fn account(&self, scratch: &mut Vec<u8>) -> Response {
        control::as_json(&self.accounts.account(), NO_ACCOUNT, scratch)
    }
}

const NO_ACCOUNT: &str = "upstream: the account cannot be written as JSON\n";

const NO_PLAN: &str =
    "upstream: the query is invalid; write ?rate=1000 or ?rate=1000&warm_up=500\n";

/// Parses a query that is empty, or contains a rate, or a rate followed by a warm-up. Returns
/// `None` if it is invalid.
fn plan(query: &str) -> Option<Plan> {
    if query.is_empty() {
        return Some(Plan::default());
    }
    let words = query.strip_prefix("rate=")?;
    let (rate, warm_up) = words.split_once("&warm_up=").unwrap_or((words, "0"));
    let rate_per_second: f64 = rate.parse().ok()?;
    (rate_per_second.is_finite() && rate_per_second > 0.0).then_some(Plan {
        rate_per_second: Some(rate_per_second),
        warm_up: warm_up.parse().ok()?,
    })
}

impl Service for FaultServer {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        worker::run(io, self, &self.ledger, &seat)
    }
}

impl<I: Io> Origin<I> for &FaultServer {
    type Http1 = Connection;
    type Exchange = Exchange;

    fn spin_ns(&self) -> u64 {
        self.spin_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_positive_rate_and_a_number_of_requests() {
        assert_eq!(plan(""), Some(Plan::default()));
        let of = |rate_per_second, warm_up| {
            Some(Plan {
                rate_per_second: Some(rate_per_second),
                warm_up,
            })
        };
        assert_eq!(plan("rate=12.5"), of(12.5, 0));
        assert_eq!(plan("rate=100&warm_up=7"), of(100.0, 7));
        for wrong in [
            "rate=",
            "rate=0",
            "rate=-1",
            "rate=inf",
            "rate=NaN",
            "warm_up=1",
            "rate=1&warm_up=x",
        ] {
            assert_eq!(plan(wrong), None, "{wrong}");
        }
    }
}
