//! General facts about the run.

use crate::common::context::Context;
use crate::common::facts::{GatewayLine, RunFacts};
use crate::common::gates::is_smoke;
use crate::common::joined;
use crate::common::trials::blocks_complete;

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

/// A command line quoted for a shell.
pub fn shell_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let quoted = words
        .iter()
        .map(|word| match !word.is_empty() && word.chars().all(plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        });
    joined(quoted, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["gatebench", "run", "--out", "my run", "it's"].map(String::from);
        assert_eq!(
            shell_line(&words),
            r"gatebench run --out 'my run' 'it'\''s'"
        );
    }
}
