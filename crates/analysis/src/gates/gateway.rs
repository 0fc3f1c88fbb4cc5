//! Gates over the gateway's processes.

use super::thresholds::GATEWAY_BUSY_MIN;
use super::{EVERYTHING, View, says};
use crate::cpu::cores_busy;
use crate::findings::{Aspect, Gate, PhaseKind, Reason, Validity};
use crate::format::{counted, decimals, percent};

/// What to do about processes that ended.
pub(super) const RESTARTED_REMEDY: &str =
    "Read the gateway's log for the crash or the limit that recycles its workers.";

/// The unit of replication is a process; another one in its place is another trial.
pub(super) fn restarted(view: &View) -> Option<Reason> {
    let ended = view.phase.usage.get("gateway")?.processes_ended;
    // A reload replaces workers; that is what is measured.
    (ended > 0 && view.phase.change.is_none()).then_some(())?;
    let count = counted(u64::from(ended), "process");
    let message = format!("{count} of the gateway ended during the measurement.");
    let says = says(message, RESTARTED_REMEDY);
    let gate = Gate::GatewayRestarted;
    Some(view.reason(gate, Validity::Invalid, &EVERYTHING, says))
}

/// Cores that the gateway kept busy in a closed load, and cores it could have.
fn busy_of_available(view: &View) -> Option<(f64, f64)> {
    if view.kind() != PhaseKind::Closed || view.is_direct() || view.is_null() {
        return None;
    }
    let (context, record) = view.run?;
    let busy = cores_busy(view.phase, "gateway")?;
    let gateway = record.gateway.as_ref();
    let workers = gateway.map_or(0, |gateway| gateway.workers) as usize;
    let cores = context.plan.placement.gateway.len();
    let available = if workers > 0 {
        workers.min(cores)
    } else {
        cores
    };
    let limit = gateway.and_then(|it| it.limits.cpus());
    let available = available.max(1) as f64;
    Some((busy, limit.map_or(available, |limit| limit.min(available))))
}

/// Share of its cores that the gateway kept busy in a closed load; none in other loads and for the
/// direct variant.
pub(super) fn busy_share(view: &View) -> Option<f64> {
    busy_of_available(view).map(|(busy, available)| busy / available)
}

/// Whether a closed load took all that the gateway had.
pub(super) fn is_saturated(view: &View) -> bool {
    busy_share(view).is_some_and(|share| share >= GATEWAY_BUSY_MIN)
}

/// Capacity is what the gateway does when it has nothing left.
pub(super) fn not_saturated(view: &View) -> Option<Reason> {
    let (busy, available) = busy_of_available(view)?;
    (!is_saturated(view)).then_some(())?;
    let message = format!(
        "The gateway kept {} of {available} cores busy ({}): this is not its capacity; its CPU per \
         request still stands.",
        decimals(busy, 2),
        percent(busy / available)
    );
    let remedy =
        "Give engine and upstream more cores, or the gateway fewer; more connections may help.";
    let spoils = [Aspect::Throughput];
    let gate = Gate::GatewayNotSaturated;
    Some(view.reason(gate, Validity::Limited, &spoils, says(message, remedy)))
}
