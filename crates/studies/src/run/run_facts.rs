//! General facts about the run.

use std::path::Path;

use gatebench_model::Study;

use crate::common::context::{Context, resumed_by};
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

/// The command that measures the missing trials of the run in `dir`, quoted for a shell.
pub fn resume_line(study: &Study, dir: &Path) -> String {
    let command = resumed_by(study);
    let words = ["gatebench", command, "--resume", &dir.to_string_lossy()];
    shell_line(&words.map(String::from))
}

#[cfg(test)]
mod tests {
    use gatebench_model::{HumanDuration, Soak};

    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["gatebench", "run", "--out", "my run", "it's"].map(String::from);
        assert_eq!(
            shell_line(&words),
            r"gatebench run --out 'my run' 'it'\''s'"
        );
    }

    #[test]
    fn a_run_is_resumed_by_the_command_that_has_the_option() {
        let soak = Study::Soak(Soak {
            duration: HumanDuration::from_millis(1_000),
            growth_bytes_per_hour: 0,
        });
        let dir = Path::new("my run");
        assert_eq!(resume_line(&soak, dir), "gatebench soak --resume 'my run'");
        assert_eq!(
            resume_line(&Study::default(), dir),
            "gatebench run --resume 'my run'"
        );
    }
}
