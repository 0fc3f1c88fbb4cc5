//! Brings up what a trial needs.

use gatebench_model::Variant;
use gatebench_store::{GatewayFacts, TrialWriter};

use crate::abort::{Failure, Halt};
use crate::context::Scene;
use crate::progress::Step;
use crate::testbed::resolve_gateway::upstream_address;
use crate::testbed::{Bringing, Stage};
use crate::workload;

/// Brings up what the variant needs; the facts of its gateway, if it has one.
pub(super) fn start_testbed(
    scene: &Scene<'_>,
    stage: &mut Stage,
    writer: &TrialWriter,
) -> Result<Option<GatewayFacts>, Halt> {
    if let Variant::Attached { url, pid, .. } = scene.variant {
        scene.step(Step::GatewayUp)?;
        if !scene.scenario.transport.is_plain() {
            return Err(Failure::not_attachable(&scene.scenario.scenario).into());
        }
        return stage.attach(url, *pid).map(Some);
    }
    let placement = &scene.plan.placement;
    scene.step(Step::UpstreamUp)?;
    let work = writer.folder().join("upstream");
    let transport = scene.scenario.transport;
    // Without a gateway the upstream speaks what the gateway would.
    let upstream_has_tls = match scene.variant {
        Variant::Floor => transport.tls,
        _ => transport.upstream_tls,
    };
    let targets = match scene.variant {
        Variant::Floor => 1,
        _ => scene.scenario.targets,
    };
    stage.bring_upstream_up(
        scene.scenario.upstream,
        upstream_has_tls,
        targets,
        (&placement.upstream, &work),
        scene.launcher,
        upstream_address(scene.gateway),
    )?;
    let Some(gateway) = scene.gateway else {
        return Ok(None);
    };
    let rest = (&placement.upstream[..], work.as_path());
    stage.bring_the_rest_up(scene.scenario, rest, scene.launcher)?;
    let scenario = stage.as_started(scene.scenario);
    scene.step(Step::GatewayUp)?;
    let bringing = Bringing {
        gateway,
        scenario: &scenario,
        work: &writer.gateway_folder(),
        cores: scene.gateway_cores(),
        limits: scene
            .variant
            .setup()
            .map(|setup| setup.limits)
            .unwrap_or_default(),
        connections: workload::connections(scene.scenario, scene.phases()),
        launcher: scene.launcher,
        interrupt: scene.interrupt,
    };
    stage.bring_gateway_up(&bringing).map(Some)
}
