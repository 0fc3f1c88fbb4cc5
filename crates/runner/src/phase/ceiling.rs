//! Measures the throughput of the bare network, before loads of the direct variant.

use std::time::Duration;

use gatebench_engine::Bare;
use gatebench_model::group::divide;
use gatebench_model::{Length, Shape, Variant};
use gatebench_net::trace::Nonce;
use gatebench_store::CeilingRecord;
use gatebench_testbed::Running;

use super::Loading;
use crate::context::TrialContext;
use crate::http_probe::{exchange, render};

/// The maximum length of the measurement. It is short, because the rate is steady from the start.
const MEASURE_MAX: Duration = Duration::from_secs(2);
const WARM_UP_MAX: Duration = Duration::from_millis(200);
const SMOKE: Duration = Duration::from_millis(50);
/// The worker number in the nonce of the request that determines the sizes. Only the last worker of
/// a load generator with 256 workers would have the same number.
const NOBODY: u8 = u8::MAX;

/// Measures the throughput of the bare network if the plan requires it, with messages as large as
/// the load's first request and the response to it. Returns `None` for gateways, for encrypted
/// loads, for loads without a fixed number of connections, and after an error, which only causes a
/// warning.
pub(crate) fn measure(
    context: &TrialContext<'_>,
    running: &Running,
    loading: &Loading<'_>,
    warnings: &mut Vec<String>,
) -> Option<CeilingRecord> {
    let is_asked = context.plan.network_ceiling && *context.variant == Variant::Direct;
    let connections = connections(context, loading).filter(|_| is_asked)?;
    let sizes = sizes(context, running, loading)?;
    let record =
        sizes.and_then(|(asked, answered)| carry(context, loading, connections, asked, answered));
    let warning = |error: &std::io::Error| {
        let phase = &loading.phase.name;
        format!(
            "the capacity of the bare network could not be measured before phase '{phase}': {error}; repeat the run to measure it"
        )
    };
    warnings.extend(record.as_ref().err().map(warning));
    record.ok()
}

/// Returns the total number of connections of the load's groups; `None` if a group has no fixed
/// number of connections.
fn connections(context: &TrialContext<'_>, loading: &Loading<'_>) -> Option<u32> {
    let shapes = divide(&loading.phase.shape, &context.scenario.groups()).ok()?;
    let each = shapes.iter().map(|shape| match shape {
        Shape::Closed(closed) if closed.stages.is_empty() => Some(closed.connections),
        Shape::Closed(_) | Shape::Open(_) => None,
    });
    each.sum()
}

/// Returns the sizes in bytes of the load's first request and of its response; `None` if they are
/// encrypted, or the load has no requests.
fn sizes(
    context: &TrialContext<'_>,
    running: &Running,
    loading: &Loading<'_>,
) -> Option<std::io::Result<(usize, usize)>> {
    if !context.scenario.transport.is_plain() {
        return None;
    }
    let (target, request) = (running.target(), loading.workload.samples.first()?);
    let nonce = Nonce::new(loading.tag, NOBODY, 0);
    let nonce = context.plan.is_traced().then_some(nonce);
    let asked = render(request, &target.address.to_string(), nonce);
    let response = exchange(target, &asked, request.method == "HEAD", context.interrupt);
    Some(response.map(|response| (asked.len(), response.head.len() + response.body_bytes)))
}

fn carry(
    context: &TrialContext<'_>,
    loading: &Loading<'_>,
    connections: u32,
    asked_bytes: usize,
    answered_bytes: usize,
) -> std::io::Result<CeilingRecord> {
    let placement = &context.plan.placement;
    let length = context.plan.length.as_ref().map(|it| it.length);
    let measure_max = match length {
        Some(Length::Smoke) => SMOKE,
        _ => MEASURE_MAX,
    };
    let bare = Bare {
        asked_bytes,
        answered_bytes,
        connections,
        warm_up: loading.phase.warm_up.0.min(WARM_UP_MAX),
        measure: loading.phase.measure.0.min(measure_max),
        client_cores: placement.engine.clone(),
        server_cores: placement.upstream.clone(),
        spin: placement.engine_is_alone(),
        backend: context.backend,
    };
    let carried = bare.carry()?;
    Ok(CeilingRecord {
        connections,
        asked_bytes: asked_bytes as u64,
        answered_bytes: answered_bytes as u64,
        exchanges: carried.exchanges,
        measure_ns: carried.measure_ns,
    })
}
