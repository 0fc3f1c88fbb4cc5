//! Which run it was.

use crate::context::Context;
use crate::findings::{GatewayLine, RunFacts};
use crate::format::shell_line;
use crate::gates::is_smoke;
use crate::trials::blocks_complete;

/// The facts of a run, from its manifest and the number of trials on disk.
pub(crate) fn of(context: &Context) -> RunFacts {
    let manifest = context.run.manifest();
    let plan = context.plan;
    RunFacts {
        suite: plan.suite.clone(),
        title: plan.title.clone(),
        created: manifest.created,
        status: manifest.status,
        gatebench: manifest.gatebench.clone(),
        engine_backend: match &manifest.external_generator {
            None => manifest.engine_backend.clone(),
            Some(external) => format!("{} {}", external.name, external.version),
        },
        seed: plan.seed,
        is_smoke: is_smoke(plan),
        blocks_planned: plan.blocks,
        blocks_complete: blocks_complete(context),
        trials_planned: plan.trials.len() as u32,
        trials_finished: context.trials().len() as u32,
        placement: plan.placement.clone(),
        command: shell_line(&manifest.command),
        gateways: gateways(context),
    }
}

fn gateways(context: &Context) -> Vec<GatewayLine> {
    let known = &context.run.manifest().gateways;
    let labels = context.plan.variants.iter().map(|variant| variant.label());
    labels
        .filter_map(|label| {
            let gateway = known.get(label)?;
            Some(GatewayLine {
                variant: label.to_owned(),
                title: gateway.title.clone(),
                version: gateway.version.clone(),
                binary: gateway.binary.clone(),
                sha256: gateway.sha256.clone(),
                notes: gateway.notes.clone(),
            })
        })
        .collect()
}
