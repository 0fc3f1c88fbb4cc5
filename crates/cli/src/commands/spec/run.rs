//! `gatebench spec run`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use gatebench_model::{Length, Specification};
use gatebench_runner::{GeneratorChoice, Listed, Prepared, Selection, StudyChoice};

use super::chosen;
use crate::commands::ab::sides::{Side, commits};
use crate::commands::run::measuring::Measuring;
use crate::commands::values::EngineWord;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench spec run single-route                   the reference gateway
  gatebench spec run single-route --gateway nginx@1.22 --gateway nginx@/opt/nginx-1.26
  gatebench spec run --tags balancer --gateway haproxy
  gatebench spec run mine.yaml --git v1.0 --git HEAD --gateway ./gateway --build 'make'
  gatebench spec run single-route --smoke           does it work? seconds, nothing is waited for
  gatebench spec run single-route --engine wrk --gateway nginx

Each specification is a run of its own, with its own directory. The versions take turns in a random order; the runs
of one version go through the same process. Before each load the machine becomes quiet (`settle:`), and a
trial that fails is tried again as often as `retries:` says.

The exit code is the worst of all runs', as `gatebench run --help` explains it; a trial that failed and succeeded when
it was tried again does not count.";

/// Runs specifications for one or more versions of a gateway, and combines the results
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunSpecifications {
    /// Specifications by name (see `gatebench spec list`) or file; without, every known one
    #[arg(value_name = "NAME or FILE")]
    words: Vec<String>,
    /// Only those with one of these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
    tags: Vec<String>,
    /// A version for start_gateway: a name, NAME@VERSION, NAME@/PREFIX, or a folder (repeatable); without, the
    /// reference gateway
    #[arg(long = "gateway", value_name = "NAME or DIR")]
    gateways: Vec<String>,
    /// A version from your repository: a commit, branch or tag that is cloned and built apart (repeatable); --gateway
    /// is then the gateway's folder in it
    #[arg(long = "git", value_name = "REF", requires = "gateways")]
    references: Vec<String>,
    /// The shell command that builds a commit, run at its top
    #[arg(long, value_name = "COMMAND", requires = "references")]
    build: Option<String>,
    /// Repetitions, each with fresh processes; without, one
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Seed of the versions' order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Cores (and workers) of each gateway; without, one
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    /// Whether everything works, not how fast; nothing is waited for
    #[arg(long)]
    smoke: bool,
    /// The load engine; without, gatebench's own, or wrk where a specification has a script for it
    #[arg(long, value_name = "ENGINE", default_value = "gatebench")]
    engine: EngineWord,
    #[command(flatten)]
    measuring: Measuring,
}

impl RunSpecifications {
    /// Runs them one after the other.
    pub fn run(self) -> Result<Exit, Failure> {
        let specifications = chosen(&self.words, &self.tags, &self.measuring.overlay.scenarios())?;
        let versions = self.versions()?;
        // Every plan is made before the first one starts, so that a mistake in the last is told at once.
        let plans = specifications
            .into_iter()
            .map(|it| self.prepare(it, &versions))
            .collect::<Result<Vec<_>, _>>()?;
        let several = plans.len() > 1;
        let mut exits = Vec::new();
        for prepared in plans {
            let exit = self.conduct(prepared, several)?;
            if exit == Exit::Interrupted {
                return Ok(exit);
            }
            exits.push(exit);
        }
        Ok(worst(exits))
    }

    /// The versions for `start_gateway`.
    fn versions(&self) -> Result<Vec<Side>, Failure> {
        if self.references.is_empty() {
            return Ok(self.gateways.iter().map(|it| Side::named(it)).collect());
        }
        let [folder] = &self.gateways[..] else {
            return Err(Failure::words(
                "--git",
                "commits are of one gateway, and several are named",
                "name its folder in your repository: --gateway ./gateway",
            ));
        };
        let references: Vec<&str> = self.references.iter().map(String::as_str).collect();
        commits(&references, Path::new(folder), self.build.as_deref())
    }

    fn prepare(
        &self,
        specification: Listed<Specification>,
        versions: &[Side],
    ) -> Result<Prepared, Failure> {
        let labels = versions
            .iter()
            .filter_map(|side| Some((side.word.clone(), side.label.clone()?)));
        let selection = Selection {
            gateways: versions.iter().map(|side| side.word.clone()).collect(),
            labels: BTreeMap::from_iter(labels),
            study: StudyChoice::Versions(specification),
            blocks: self.blocks,
            seed: self.seed,
            gateway_cores: self.gateway_cores,
            length: if self.smoke {
                Length::Smoke
            } else {
                Length::Full
            },
            engine: self.engine.generator().map(|generator| GeneratorChoice {
                generator,
                script: None,
            }),
            ..Selection::default()
        };
        self.measuring.prepare(&selection, None)
    }

    fn conduct(&self, prepared: Prepared, several: bool) -> Result<Exit, Failure> {
        let name = prepared.plan.suite.clone();
        if several && !self.measuring.json && !self.measuring.dry_run {
            terminal::say(&format!("\n── {name}: {}", prepared.plan.title))?;
        }
        let mut request = self.measuring.request(prepared, None)?;
        if several && self.measuring.out.is_some() {
            request.out.push(&name);
        }
        let conducted = self.measuring.conduct(&request)?;
        Ok(conducted.map_or(Exit::Fine, |it| it.exit))
    }
}

/// Returns the exit code of several runs. A failure that somebody can correct comes before one of
/// the machine.
fn worst(exits: impl IntoIterator<Item = Exit>) -> Exit {
    let bad = exits.into_iter().filter(|exit| *exit != Exit::Fine);
    bad.min_by_key(|exit| exit.code()).unwrap_or(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_worst() {
        assert_eq!(worst([Exit::Fine, Exit::Inconclusive]), Exit::Inconclusive);
        assert_eq!(worst([Exit::CheckFailed, Exit::Fine]), Exit::CheckFailed);
        let both = worst([Exit::Inconclusive, Exit::CheckFailed]);
        assert_eq!(both, Exit::CheckFailed);
        assert_eq!(worst([Exit::Fine]), Exit::Fine);
    }
}
