//! What the upstream says that it saw.

use std::io;

use gatebench_model::{Culprit, Request};
use gatebench_store::LedgerDelta;
use gatebench_upstream::{LEDGER_PATH, Snapshot};

use crate::exchange::{exchange, render};
use crate::halt::{Failure, Halt};
use crate::interrupt::Interrupt;
use crate::wire::Wire;

/// Asks the upstream for its ledger.
pub(crate) fn read(upstream: &Wire, interrupt: &Interrupt) -> Result<Snapshot, Halt> {
    let request = Request::new("GET", LEDGER_PATH);
    let bytes = render(&request, &upstream.address.to_string(), None);
    let failed = |reason: String| {
        let reason = format!("the upstream does not tell its ledger: {reason}");
        Halt::from(Failure::new(
            Culprit::Upstream,
            reason,
            "look into its logs in the trial's folder",
        ))
    };
    match exchange(upstream, &bytes, false, interrupt) {
        Ok(answer) => {
            serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(Halt::Interrupted),
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
