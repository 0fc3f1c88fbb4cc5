//! Starts the parts of a trial, and records the start of the gateway.

use gatebench_model::{Stacks, Variant};
use gatebench_store::{FileDigest, FirstCorrect, GatewayFacts, TrialWriter};
use gatebench_testbed::{Part, Running, TrialParts, Wire};
use gatebench_upstream::STREAMS;

use super::opening::Opening;
use super::slots;
use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::numbers::{count, nanos};
use crate::progress::Step;
use crate::workload;

/// With an opening request, the gateway is ready at its first correct response.
pub(super) fn start(
    context: &TrialContext<'_>,
    writer: &TrialWriter,
    opening: Option<&Opening<'_>>,
) -> Result<Running, Abort> {
    let is_attached = matches!(context.variant, Variant::Attached { .. });
    if is_attached && !context.scenario.transport.is_plain() {
        return Err(Failure::not_attachable(&context.scenario.scenario).into());
    }
    let ask = opening.map(|opening| |wire: &Wire| opening.ask(wire));
    let parts = TrialParts {
        scenario: context.scenario,
        variant: context.variant,
        gateway: context.gateway,
        folder: writer.folder(),
        placement: &context.plan.placement,
        streams: streams(context),
        connections: workload::connections(context.scenario, context.phases()),
        profile: own_samples_per_second(context),
        opening: ask.as_ref().map(|ask| ask as _),
    };
    context.testbed.start(&parts, context.interrupt, |part| {
        context.step(match part {
            Part::Upstream => Step::UpstreamUp,
            Part::Gateway => Step::GatewayUp,
        })
    })
}

/// Returns the rate of the gateway's own profiler; `None` if the plan does not use it.
fn own_samples_per_second(context: &TrialContext<'_>) -> Option<u32> {
    let flame = context.plan.study.profile()?;
    (flame.stacks == Stacks::Own).then_some(flame.samples_per_second)
}

/// Returns the number of streams in the upstreams' ledgers: one for each worker in each part of a
/// trial, but at least the default.
fn streams(context: &TrialContext<'_>) -> usize {
    let cores = &context.plan.placement.engine;
    let workers = match context.agents {
        None => cores.len(),
        Some(agents) => agents.workers(&[]),
    };
    let parts = slots(context) as usize;
    STREAMS.max(parts * workers.max(1))
}

/// Returns the facts about the trial's gateway; `None` if there is no gateway. The time of a first
/// correct response is counted from `began_ns`.
pub(super) fn facts(
    context: &TrialContext<'_>,
    running: &Running,
    opening: Option<&Opening<'_>>,
    began_ns: u64,
) -> Option<GatewayFacts> {
    let Some((started, found)) = running.started().zip(context.gateway) else {
        let is_attached = matches!(context.variant, Variant::Attached { .. });
        return is_attached.then(|| GatewayFacts {
            version: "unknown".into(),
            ..GatewayFacts::default()
        });
    };
    let binary = &found.binary;
    let rendered = started.rendered.iter().map(|file| FileDigest {
        path: file.path.display().to_string(),
        sha256: file.sha256.clone(),
    });
    let cores = context.gateway_cores().len();
    let setup = context.variant.setup();
    Some(GatewayFacts {
        version: binary.version.clone(),
        binary: binary.place(),
        sha256: binary.sha256.clone(),
        commands: started.commands.clone(),
        rendered: rendered.collect(),
        workers: count(cores).max(1),
        started_in_ms: u64::try_from(started.ready_after.as_millis()).unwrap_or(u64::MAX),
        first_correct: opening.map(|opening| FirstCorrect {
            after_ns: nanos(started.ready_after),
            not_before_ns: nanos(started.not_ready_before),
            at_ns: opening.responded_at_ns().saturating_sub(began_ns),
        }),
        limits: setup.map(|it| it.limits).unwrap_or_default(),
        limited_by: found.limiter.name().map(str::to_owned),
        ..GatewayFacts::default()
    })
}
