//! One worker's loop: events to connections, and deadlines met by polling.

use std::io;
use std::sync::atomic::Ordering;

use gatebench_net::timers::Timers;
use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service};
use gatebench_net::{ConnId, ConnMap, Event, Io};

use super::account::{Accounts, Plan};
use super::connection::{Connection, Fate};
use super::{ACCOUNT_PATH, BEGIN_PATH};
use crate::answer::{Answer, Body, JSON};
use crate::control::{self, RESET_PATH};
use crate::counters::Counters;
use crate::ledger::Ledger;

/// The last part of a wait is spent polling without waiting: a thread that sleeps wakes late by more
/// than this origin may be off.
const SPIN_NS: u64 = 150_000;
/// On a core of its own a worker polls for longer, so that under a steady load it never sleeps and
/// requests are not met late either.
const SPIN_PINNED_NS: u64 = 2_000_000;

/// What the workers share.
pub(crate) struct Pathology {
    pub(super) accounts: Accounts,
    pub(super) ledger: Ledger,
    spin_ns: u64,
}

/// What all connections of a worker use.
pub(super) struct Env<'a, I> {
    pub(super) io: I,
    pub(super) shared: &'a Pathology,
    pub(super) counters: &'a Counters,
    pub(super) timers: Timers<ConnId>,
    /// The clock as it was after the last poll.
    pub(super) now_ns: u64,
}

impl Pathology {
    pub(crate) fn new(workers: usize, are_pinned: bool) -> Self {
        Self {
            accounts: Accounts::new(),
            ledger: Ledger::new(workers),
            spin_ns: if are_pinned { SPIN_PINNED_NS } else { SPIN_NS },
        }
    }

    /// Answers a request to control's paths.
    pub(super) fn control(
        &self,
        method: &str,
        path: &str,
        query: &str,
        scratch: &mut Vec<u8>,
    ) -> Answer {
        match (path, method) {
            (ACCOUNT_PATH, "GET") => self.told(scratch),
            (ACCOUNT_PATH, _) => Answer::not_allowed("GET"),
            (BEGIN_PATH, "POST") => match plan(query) {
                Some(plan) => {
                    self.accounts.begin(plan);
                    self.ledger.reset();
                    self.told(scratch)
                }
                None => Answer::error(400, NO_PLAN),
            },
            (BEGIN_PATH, _) => Answer::not_allowed("POST"),
            _ => {
                if (path, method) == (RESET_PATH, "POST") {
                    self.accounts.begin(Plan::default());
                }
                control::answer(method, path, &self.ledger, scratch)
            }
        }
    }

    fn told(&self, scratch: &mut Vec<u8>) -> Answer {
        match serde_json::to_writer(scratch, &self.accounts.account()) {
            Ok(()) => Answer::ok(JSON, Body::Scratch),
            Err(_) => Answer::error(500, "upstream: the account cannot be written as JSON\n"),
        }
    }
}

const NO_PLAN: &str =
    "upstream: write ?rate=1000, in requests per second, or ?rate=1000&warm_up=500, in requests\n";

/// Nothing, a rate, or a rate and a warm-up after it.
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

impl Service for Pathology {
    fn run<I: Io>(&self, io: I, seat: Seat<'_>) -> io::Result<()> {
        let counters = self.ledger.of_worker(seat.index);
        counters.thread_id.store(seat.thread_id, Ordering::Relaxed);
        let mut env = Env {
            now_ns: io.now_ns(),
            io,
            shared: self,
            counters,
            timers: Timers::default(),
        };
        let mut conns = ConnMap::default();
        let mut events = Vec::new();
        while !seat.stopped() {
            let check_ns = env.now_ns + STOP_CHECK_NS;
            let until_ns = env.timers.next_ns().map_or(check_ns, |due_ns| {
                due_ns.saturating_sub(self.spin_ns).min(check_ns)
            });
            env.io.poll(Some(until_ns), &mut events)?;
            env.now_ns = env.io.now_ns();
            for event in events.drain(..) {
                handle(&mut env, &mut conns, event);
            }
            while let Some(id) = env.timers.pop_due(env.now_ns) {
                let fate = conns.get_mut(id).map(|conn| conn.due(&mut env));
                obey(&mut env, &mut conns, id, fate);
            }
        }
        Ok(())
    }
}

fn handle<I: Io>(env: &mut Env<'_, I>, conns: &mut ConnMap<Connection>, event: Event) {
    let id = event.conn();
    let fate = match event {
        Event::Accepted { conn, .. } => {
            env.counters.accepted.add(1);
            conns.insert(conn, Connection::new(conn));
            Some(Fate::Keep)
        }
        Event::Received { bytes, .. } => conns.get_mut(id).map(|conn| conn.received(env, &bytes)),
        Event::EndOfStream { .. } => conns.get_mut(id).map(|conn| conn.end_of_stream(env)),
        Event::Sent { bytes, .. } => conns.get_mut(id).map(|conn| conn.sent(env, bytes)),
        Event::Failed { .. } => Some(Fate::Close),
        // An origin connects to nobody.
        Event::Connected { .. } => None,
    };
    obey(env, conns, id, fate);
}

fn obey<I: Io>(
    env: &mut Env<'_, I>,
    conns: &mut ConnMap<Connection>,
    id: ConnId,
    fate: Option<Fate>,
) {
    let Some(fate @ (Fate::Close | Fate::Reset)) = fate else {
        return;
    };
    let Some(conn) = conns.remove(id) else {
        return;
    };
    conn.gone(env);
    match fate {
        Fate::Reset => env.io.abort(id),
        Fate::Close | Fate::Keep => env.io.close(id),
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
