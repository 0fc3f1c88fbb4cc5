//! Measures the rate that the bare network carries, before a load without a gateway.

use std::time::Duration;

use gatebench_engine::Bare;
use gatebench_model::group::divide;
use gatebench_model::{Length, Shape, Variant};
use gatebench_net::trace::Nonce;
use gatebench_store::CeilingRecord;

use super::Loading;
use crate::context::TrialContext;
use crate::http_probe::{exchange, render};
use crate::testbed::Testbed;

/// The longest that it is measured: it is steady from the first moment.
const MEASURE_MAX: Duration = Duration::from_secs(2);
const WARM_UP_MAX: Duration = Duration::from_millis(200);
/// In a run that only shows that everything works.
const SMOKE: Duration = Duration::from_millis(50);
/// The worker of the nonce by which sizes are found; no engine has so many.
const NOBODY: u8 = u8::MAX;

/// Measures it where the plan asks for it, by the sizes of the load's first request and of the answer to it; none
/// for loads that keep no number of connections. What goes wrong is told and spoils nothing else.
pub(crate) fn measure(
    context: &TrialContext<'_>,
    testbed: &Testbed,
    loading: &Loading<'_>,
    warnings: &mut Vec<String>,
) -> Option<CeilingRecord> {
    let is_asked = context.plan.network_ceiling && *context.variant == Variant::Direct;
    let connections = connections(context, loading).filter(|_| is_asked)?;
    let sizes = sizes(context, testbed, loading)?;
    let record = sizes.and_then(|sizes| carry(context, loading, connections, sizes));
    let told = |error: &std::io::Error| {
        let phase = &loading.phase.name;
        format!(
            "what the bare network carries could not be measured before '{phase}': {error}; run it again to have it"
        )
    };
    warnings.extend(record.as_ref().err().map(told));
    record.ok()
}

/// Connections of a load that keeps them, over all groups.
fn connections(context: &TrialContext<'_>, loading: &Loading<'_>) -> Option<u32> {
    let shapes = divide(&loading.phase.shape, &context.scenario.groups()).ok()?;
    let each = shapes.iter().map(|shape| match shape {
        Shape::Closed(closed) if closed.stages.is_empty() => Some(closed.connections),
        Shape::Closed(_) | Shape::Open(_) => None,
    });
    each.sum()
}

/// Bytes of a request and of its answer, as the load has them; none where nothing is sent in the clear.
fn sizes(
    context: &TrialContext<'_>,
    testbed: &Testbed,
    loading: &Loading<'_>,
) -> Option<std::io::Result<(usize, usize)>> {
    if !context.scenario.transport.is_plain() {
        return None;
    }
    let (target, request) = (testbed.target()?, loading.workload.samples.first()?);
    let nonce = Nonce::new(loading.tag, NOBODY, 0);
    let nonce = context.plan.is_traced().then_some(nonce);
    let asked = render(request, &target.address.to_string(), nonce);
    let answer = exchange(&target, &asked, request.method == "HEAD", context.interrupt);
    Some(answer.map(|answer| (asked.len(), answer.head.len() + answer.body_bytes)))
}

fn carry(
    context: &TrialContext<'_>,
    loading: &Loading<'_>,
    connections: u32,
    (asked_bytes, answered_bytes): (usize, usize),
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
