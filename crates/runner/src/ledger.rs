//! Reads the upstream's ledger, which counts the requests that the upstream received, and sets the
//! health of targets.

use std::io;

use gatebench_model::{Culprit, Request};
use gatebench_store::LedgerDelta;
use gatebench_testbed::{Interrupt, Wire};
use gatebench_upstream::{HEALTH_PATH, LEDGER_PATH, Snapshot};

use crate::abort::{Abort, Failure, READ_LOGS};
use crate::http_probe::{Response, send};

/// Reads the ledgers of all targets and adds them up; `None` if there are no targets.
pub(crate) fn read(targets: &[Wire], interrupt: &Interrupt) -> Result<Option<Snapshot>, Abort> {
    let mut sum = None::<Snapshot>;
    for target in targets {
        sum.get_or_insert_default()
            .add(&of_target(target, interrupt)?);
    }
    Ok(sum)
}

/// Returns the number of requests whose head has arrived at each target.
pub(crate) fn begun(targets: &[Wire], interrupt: &Interrupt) -> Result<Vec<u64>, Abort> {
    let of = |target| of_target(target, interrupt).map(|ledger| ledger.begun);
    targets.iter().map(of).collect()
}

pub(crate) fn gained(from: &[u64], to: &[u64]) -> Vec<u64> {
    let pairs = from.iter().zip(to);
    pairs.map(|(from, to)| to.saturating_sub(*from)).collect()
}

/// Sets the health of a target: `well`, `resetting`, or `slow/200` for a delay of 200 ms.
pub(crate) fn make(target: &Wire, health: &str, interrupt: &Interrupt) -> Result<(), Abort> {
    let request = Request::new("POST", format!("{HEALTH_PATH}{health}"));
    let what = format!("cannot set the upstream's health to '{health}'");
    match ask(target, &request, &what, interrupt)?.status {
        200 => Ok(()),
        status => Err(failed(&what, format!("the response has status {status}"))),
    }
}

pub(crate) fn of_target(target: &Wire, interrupt: &Interrupt) -> Result<Snapshot, Abort> {
    let request = Request::new("GET", LEDGER_PATH);
    let what = "the upstream does not report its ledger";
    let response = ask(target, &request, what, interrupt)?;
    serde_json::from_slice(&response.body).map_err(|error| failed(what, error.to_string()))
}

fn ask(
    target: &Wire,
    request: &Request,
    what: &str,
    interrupt: &Interrupt,
) -> Result<Response, Abort> {
    send(target, request, None, interrupt).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => Abort::Interrupted,
        _ => failed(what, error.to_string()),
    })
}

fn failed(what: &str, reason: String) -> Abort {
    Failure::new(Culprit::Upstream, format!("{what}: {reason}"), READ_LOGS).into()
}

/// Returns the number of nonces that the upstream saw for the first time between two snapshots.
/// Each request with an untracked nonce counts as a new nonce.
pub(crate) fn nonces_seen(before: &Snapshot, after: &Snapshot) -> u64 {
    (after.unique + after.untracked).saturating_sub(before.unique + before.untracked)
}

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
