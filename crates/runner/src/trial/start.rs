//! Brings up the testbed of a trial.

use gatebench_model::Variant;
use gatebench_store::{GatewayFacts, TrialWriter};

use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::progress::Step;
use crate::testbed::opening::Opening;
use crate::testbed::resolve_gateway::upstream_address;
use crate::testbed::{GatewaySpec, Testbed};
use crate::workload;

/// Brings up what the variant needs; the facts of its gateway, if it has one. With an opening the
/// gateway is up at its first correct response.
pub(super) fn start_testbed(
    context: &TrialContext<'_>,
    testbed: &mut Testbed,
    writer: &TrialWriter,
    opening: Option<&Opening<'_>>,
) -> Result<Option<GatewayFacts>, Abort> {
    if let Variant::Attached { url, pid, .. } = context.variant {
        context.step(Step::GatewayUp)?;
        if !context.scenario.transport.is_plain() {
            return Err(Failure::not_attachable(&context.scenario.scenario).into());
        }
        return testbed.attach(url, *pid).map(Some);
    }
    let placement = &context.plan.placement;
    context.step(Step::UpstreamUp)?;
    let work = writer.folder().join("upstream");
    let transport = context.scenario.transport;
    // Without a gateway the upstream speaks what the gateway would.
    let upstream_has_tls = match context.variant {
        Variant::Direct => transport.tls,
        _ => transport.upstream_tls,
    };
    let targets = match context.variant {
        Variant::Direct => 1,
        _ => context.scenario.targets,
    };
    testbed.bring_upstream_up(
        context.scenario.upstream,
        upstream_has_tls,
        targets,
        (&placement.upstream, &work),
        context.launcher,
        upstream_address(context.gateway),
    )?;
    let Some(gateway) = context.gateway else {
        return Ok(None);
    };
    let rest = (&placement.upstream[..], work.as_path());
    testbed.bring_the_rest_up(context.scenario, rest, context.launcher)?;
    let scenario = testbed.as_started(context.scenario);
    context.step(Step::GatewayUp)?;
    let spec = GatewaySpec {
        gateway,
        scenario: &scenario,
        work: &writer.gateway_folder(),
        cores: context.gateway_cores(),
        limits: context
            .variant
            .setup()
            .map(|setup| setup.limits)
            .unwrap_or_default(),
        connections: workload::connections(context.scenario, context.phases()),
        launcher: context.launcher,
        interrupt: context.interrupt,
        opening,
    };
    testbed.bring_gateway_up(&spec).map(Some)
}
