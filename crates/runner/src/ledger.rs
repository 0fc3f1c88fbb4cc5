//! Reads the upstream's ledger, the count of the requests that it received.

use std::io;

use gatebench_model::{Culprit, Request};
use gatebench_store::LedgerDelta;
use gatebench_testbed::{Interrupt, Wire};
use gatebench_upstream::{HEALTH_PATH, LEDGER_PATH, Snapshot};

use crate::abort::{Abort, Failure};
use crate::http_probe::send;

/// Reads the ledgers of all targets and adds them up; none if there are no targets.
pub(crate) fn read(targets: &[Wire], interrupt: &Interrupt) -> Result<Option<Snapshot>, Abort> {
    let mut sum = None::<Snapshot>;
    for target in targets {
        sum.get_or_insert_default()
            .add(&of_target(target, interrupt)?);
    }
    Ok(sum)
}

/// Sets the health of a target: `well`, `resetting` or `slow/200`.
pub(crate) fn make(target: &Wire, health: &str, interrupt: &Interrupt) -> Result<(), Abort> {
    let request = Request::new("POST", format!("{HEALTH_PATH}{health}"));
    let reason = match send(target, &request, None, interrupt) {
        Ok(response) if response.status == 200 => return Ok(()),
        Ok(response) => format!("it returns {}", response.status),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(Abort::Interrupted),
        Err(error) => error.to_string(),
    };
    let reason = format!("the upstream did not become {health}: {reason}");
    Err(Failure::new(Culprit::Upstream, reason, REMEDY).into())
}

/// The remedy if an upstream does not respond as expected.
const REMEDY: &str = "read its logs in the trial's folder";

/// Reads the ledger of one target.
pub(crate) fn of_target(upstream: &Wire, interrupt: &Interrupt) -> Result<Snapshot, Abort> {
    let request = Request::new("GET", LEDGER_PATH);
    let failed = |reason: String| {
        let reason = format!("the upstream does not report its ledger: {reason}");
        Abort::from(Failure::new(Culprit::Upstream, reason, REMEDY))
    };
    match send(upstream, &request, None, interrupt) {
        Ok(response) => {
            serde_json::from_slice(&response.body).map_err(|error| failed(error.to_string()))
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(Abort::Interrupted),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Returns the number of requests with our nonces that reached the upstream, each counted once.
pub(crate) fn nonces_seen(before: &Snapshot, after: &Snapshot) -> u64 {
    // A nonce that is no longer remembered is indistinguishable from a repeated one.
    (after.unique + after.untracked).saturating_sub(before.unique + before.untracked)
}

/// Returns the growth of the ledger.
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
