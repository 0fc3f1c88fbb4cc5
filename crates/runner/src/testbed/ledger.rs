//! Reads the upstream's ledger, the count of the requests that it received.

use std::io;

use gatebench_model::{Culprit, Request};
use gatebench_store::LedgerDelta;
use gatebench_upstream::{HEALTH_PATH, LEDGER_PATH, Snapshot};

use crate::abort::{Abort, Failure};
use crate::http_probe::wire::Wire;
use crate::http_probe::{exchange, render};
use crate::interrupt::Interrupt;

/// The upstream: its targets, and what those saw that were ended since.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    pub(crate) wires: Vec<Wire>,
    pub(crate) past: Snapshot,
}

/// Asks all targets for their ledgers, and adds them up.
pub(crate) fn read(upstream: &Origins, interrupt: &Interrupt) -> Result<Snapshot, Abort> {
    let mut sum = upstream.past.clone();
    for wire in &upstream.wires {
        sum.add(&of_target(wire, interrupt)?);
    }
    Ok(sum)
}

/// Makes a target `well`, `resetting` or `slow/200` from now on.
pub(crate) fn make(target: &Wire, health: &str, interrupt: &Interrupt) -> Result<(), Abort> {
    let request = Request::new("POST", format!("{HEALTH_PATH}{health}"));
    let bytes = render(&request, &target.address.to_string(), None);
    let reason = match exchange(target, &bytes, false, interrupt) {
        Ok(answer) if answer.status == 200 => return Ok(()),
        Ok(answer) => format!("it answers {}", answer.status),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(Abort::Interrupted),
        Err(error) => error.to_string(),
    };
    let reason = format!("the upstream does not become {health}: {reason}");
    Err(Failure::new(Culprit::Upstream, reason, REMEDY).into())
}

/// Where to look when an upstream does not obey.
const REMEDY: &str = "read its logs in the trial's folder";

/// Asks one target for its ledger.
pub(crate) fn of_target(upstream: &Wire, interrupt: &Interrupt) -> Result<Snapshot, Abort> {
    let request = Request::new("GET", LEDGER_PATH);
    let bytes = render(&request, &upstream.address.to_string(), None);
    let failed = |reason: String| {
        let reason = format!("the upstream does not report its ledger: {reason}");
        Abort::from(Failure::new(Culprit::Upstream, reason, REMEDY))
    };
    match exchange(upstream, &bytes, false, interrupt) {
        Ok(answer) => {
            serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(Abort::Interrupted),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Requests with a nonce of ours that the upstream saw, each counted once.
pub(crate) fn nonces_seen(before: &Snapshot, after: &Snapshot) -> u64 {
    // A nonce that is not remembered cannot be told from a repeated one.
    (after.unique + after.untracked).saturating_sub(before.unique + before.untracked)
}

/// What the ledger gained.
pub(crate) fn delta(before: &Snapshot, after: &Snapshot) -> LedgerDelta {
    LedgerDelta {
        requests: after.requests.saturating_sub(before.requests),
        unique: nonces_seen(before, after),
        repeated: after.repeated.saturating_sub(before.repeated),
        connections_accepted: after
            .connections_accepted
            .saturating_sub(before.connections_accepted),
    }
}
