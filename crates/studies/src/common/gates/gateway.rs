//! Gates for the gateway's processes.

use gatebench_report::format::{counted, percent};

use super::thresholds::GATEWAY_BUSY_MIN;
use super::{EVERYTHING, View};
use crate::common::cpu::{cores_busy, usable_cores};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

pub(super) const RESTARTED_REMEDY: &str =
    "Look in the gateway's log for a crash, or for a limit after which its workers are replaced.";

/// A trial measures the processes that were started for it. If one of them ends, the figures
/// describe a gateway that lacks the process or has just started another one.
pub(super) fn restarted(view: &View) -> Option<Reason> {
    let ended = view.phase.usage.get("gateway")?.processes_ended;
    // A change, such as a reload, may replace workers on purpose.
    (ended > 0 && view.phase.change.is_none()).then_some(())?;
    let count = counted(u64::from(ended), "process");
    let message = format!("{count} of the gateway ended during the measurement.");
    let (gate, remedy) = (Gate::GatewayRestarted, RESTARTED_REMEDY);
    Some(view.invalid(gate, &EVERYTHING, message, remedy))
}

/// The number of cores that the gateway kept busy in a closed load, and the number that it could
/// use. `None` for other loads, for the direct variant and for the null gateway.
fn busy_of_available(view: &View) -> Option<(f64, f64)> {
    if view.kind() != PhaseKind::Closed || view.is_direct() || view.is_null() {
        return None;
    }
    let (context, record) = view.run?;
    let busy = cores_busy(view.phase, "gateway")?;
    let placed = context.plan.placement.gateway.len();
    Some((busy, usable_cores(record.gateway.as_ref(), placed)))
}

pub(super) fn busy_share(view: &View) -> Option<f64> {
    busy_of_available(view).map(|(busy, available)| busy / available)
}

pub(super) fn is_saturated(view: &View) -> bool {
    busy_share(view).is_some_and(|share| share >= GATEWAY_BUSY_MIN)
}

/// A throughput is the gateway's capacity only if the load kept the gateway's cores busy.
pub(super) fn not_saturated(view: &View) -> Option<Reason> {
    let (busy, available) = busy_of_available(view)?;
    (!is_saturated(view)).then_some(())?;
    let message = format!(
        "The gateway kept {busy:.2} of {available} cores busy ({}): this throughput is not its capacity, but its \
         CPU per request is still valid.",
        percent(busy / available)
    );
    let remedy = "Give the load generator and the upstream more cores, or the gateway fewer; more connections may help.";
    let spoils = [Aspect::Throughput];
    Some(view.limited(Gate::GatewayNotSaturated, &spoils, message, remedy))
}
