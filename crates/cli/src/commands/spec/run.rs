//! `gatebench spec run`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use gatebench_model::{Length, Specification};
use gatebench_runner::{GeneratorChoice, Listed, Prepared, Selection};

use super::chosen;
use crate::commands::ab::sides::{Side, commits};
use crate::commands::run::measuring::Measuring;
use crate::commands::values::{ENGINES, Engine, one_of};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench spec run single-route                   the reference gateway
  gatebench spec run single-route --gateway nginx@1.22 --gateway nginx@/opt/nginx-1.26
  gatebench spec run --tags balancer --gateway haproxy
  gatebench spec run mine.yaml --git v1.0 --git HEAD --gateway ./gateway --build 'make'
  gatebench spec run single-route --smoke           does it work? (takes seconds)
  gatebench spec run single-route --engine wrk --gateway nginx

Each specification is a run with its own directory. Within a specification, the versions take turns
in random order, and the load of each version is repeated in the same process (`runs:`). Before each
load, gatebench waits for the machine to become quiet (`settle:`). It repeats a failed trial up to
`retries:` times.

The exit code is that of the worst run (see `gatebench run --help`). A failed trial that succeeded
when it was repeated does not count as failed.";

/// Run specifications for one or more versions of a gateway, and combine the results
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunSpecifications {
    /// Specifications by name (see `gatebench spec list`) or file [default: all known ones]
    #[arg(value_name = "NAME|FILE")]
    words: Vec<String>,
    /// Run only specifications with one of these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
    tags: Vec<String>,
    /// Use this version in start_gateway: a name, NAME@VERSION, NAME@/PREFIX, or a folder
    /// (repeatable) [default: reference]
    #[arg(long = "gateway", value_name = "NAME|DIR")]
    gateways: Vec<String>,
    /// Use this commit, branch or tag of your repository, cloned and built separately (repeatable);
    /// --gateway is then the gateway's folder in the repository, or NAME@PREFIX, where PREFIX is
    /// the program's prefix in each clone
    #[arg(long = "git", value_name = "REF", requires = "gateways")]
    references: Vec<String>,
    /// Build each commit with this shell command, in the root of its clone
    #[arg(long, value_name = "COMMAND", requires = "references")]
    build: Option<String>,
    /// Repeat everything N times, each time with fresh processes [default: 1]
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Seed for the random order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Give each gateway N cores and N workers [default: 1]
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    /// Verify that everything works, without measuring or waiting
    #[arg(long)]
    smoke: bool,
    /// Send the load with this generator; a specification with a script for wrk uses wrk
    #[arg(long, value_name = "ENGINE", default_value = "gatebench", value_parser = one_of(&ENGINES))]
    engine: Engine,
    #[command(flatten)]
    measuring: Measuring,
}

impl RunSpecifications {
    pub fn run(self) -> Result<Exit, Failure> {
        self.measuring.check_outputs()?;
        let specifications = chosen(&self.words, &self.tags, &self.measuring.overlay.scenarios())?;
        let versions = self.versions()?;
        // Every plan is made before the first run starts, so that a mistake in any specification is
        // reported at once.
        let plans = specifications
            .into_iter()
            .map(|it| self.prepare(it, &versions))
            .collect::<Result<Vec<_>, _>>()?;
        let several = plans.len() > 1;
        let mut exits = Vec::new();
        for (index, prepared) in plans.into_iter().enumerate() {
            let exit = self.conduct(prepared, several, index > 0)?;
            if exit == Exit::Interrupted {
                return Ok(exit);
            }
            exits.push(exit);
        }
        Ok(worst(exits))
    }

    /// Returns the versions for `start_gateway`; with --git, builds them first.
    fn versions(&self) -> Result<Vec<Side>, Failure> {
        if self.references.is_empty() {
            return Ok(self.gateways.iter().map(|it| Side::named(it)).collect());
        }
        let [gateway] = &self.gateways[..] else {
            return Err(Failure::words(
                "--git",
                "commits can be combined with only one gateway, but several are named",
                "name one gateway's folder in your repository: --gateway ./gateway",
            ));
        };
        let references: Vec<&str> = self.references.iter().map(String::as_str).collect();
        commits(&references, Path::new(gateway), self.build.as_deref())
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
            specification: Some(specification),
            blocks: self.blocks,
            seed: self.seed,
            gateway_cores: self.gateway_cores,
            length: if self.smoke {
                Length::Smoke
            } else {
                Length::Full
            },
            engine: self.engine.map(|generator| GeneratorChoice {
                generator,
                script: None,
            }),
            ..Selection::default()
        };
        self.measuring.prepare(&selection, None)
    }

    /// `follows` is true if another specification has been run before this one.
    fn conduct(&self, prepared: Prepared, several: bool, follows: bool) -> Result<Exit, Failure> {
        let name = prepared.plan.suite.clone();
        if several && !self.measuring.json && !self.measuring.dry_run {
            let said = terminal::say(&format!("\n── {name}: {}", prepared.plan.title));
            terminal::unless_closed(said)?;
        }
        let mut request = self.measuring.request(prepared, None)?;
        request.outputs.appends = follows;
        if several && self.measuring.dir()?.is_some() {
            request.out.push(&name);
        }
        let conducted = self.measuring.conduct(&request)?;
        Ok(conducted.map_or(Exit::Fine, |it| it.exit))
    }
}

/// Returns the lowest exit code other than success. A failure that the user can correct therefore
/// takes precedence over a failure of the machine.
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
