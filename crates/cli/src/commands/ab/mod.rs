//! `gatebench ab BASELINE CANDIDATE`.

pub mod sides;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_analysis::Findings;
use gatebench_analysis::findings::Decision;
use gatebench_model::HumanDuration;
use gatebench_report::{Comment, junit, markdown};
use gatebench_runner::{AbChoice, Selection, StudyChoice};

use self::sides::{Side, Sides};
use super::run::measuring::Measuring;
use super::values::MetricWord;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// The suite that the scenario and the load come from.
const SUITE: &str = "ab";

const EXAMPLES: &str = "\
Examples:
  gatebench ab nginx ./my-nginx                    is mine worse?
  gatebench ab nginx@1.22 nginx@/opt/nginx-1.26    compare two versions
  gatebench ab haproxy envoy --scenario api-key --metric added-p99
  gatebench ab --git main HEAD --build 'make' --gateway ./gateway
  gatebench ab nginx ./my-nginx --budget 5m --junit ab.xml --comment ab.md

Each block runs three fresh processes: the candidate, the baseline, and the baseline again. The
difference between the two baseline processes is the current noise of the machine. Until the
verdict is settled, a block loads all three side by side on the same cores and measures CPU per
request. The intervals stay valid however often they are checked. While time is left, ten further
blocks load each gateway alone, in random order, to measure the other metrics.

Exit code: 1 if the candidate is worse, 4 if the verdict is inconclusive, 0 otherwise.";

/// Compare two gateways, versions or commits, and give a verdict
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ab {
    /// The baseline: a gateway's name, NAME@VERSION, NAME@/PREFIX, or a folder
    #[arg(required_unless_present = "git")]
    baseline: Option<String>,
    /// The candidate, named like the baseline
    #[arg(required_unless_present = "git")]
    candidate: Option<String>,
    /// Compare two commits of your repository; each is cloned and built separately
    #[arg(long, num_args = 2, value_names = ["BASELINE", "CANDIDATE"], requires = "gateway",
          conflicts_with_all = ["baseline", "candidate"])]
    git: Option<Vec<String>>,
    /// The gateway's folder in your repository
    #[arg(long, value_name = "DIR", requires = "git")]
    gateway: Option<PathBuf>,
    /// Build each commit with this shell command, in the root of its clone
    #[arg(long, value_name = "COMMAND", requires = "git")]
    build: Option<String>,
    /// Measure this scenario, a name or file (repeatable) [default: proxy-json]
    #[arg(long = "scenario", value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// Use this load profile, a name or file [default: 64 connections side by side, then alone,
    /// then 5,000 requests/s]
    #[arg(long, value_name = "NAME|FILE")]
    load: Option<String>,
    /// Decide by this metric
    #[arg(long, value_enum, default_value = "cpu")]
    metric: MetricWord,
    /// Measure only the metric that decides, and stop at the verdict
    #[arg(long)]
    verdict_only: bool,
    /// Take at most this time
    #[arg(long, value_name = "TIME", default_value = "10m")]
    budget: HumanDuration,
    /// Run at most N blocks; a verdict needs at least 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=2000))]
    blocks: Option<u32>,
    /// Seed of the random order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Give each gateway N cores and N workers [default: 1]
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    /// Write the verdict to this file as JUnit XML, for a CI system
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the verdict to this file as Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    comment: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Ab {
    /// Compares them, and says what came of it.
    pub fn run(self) -> Result<Exit, Failure> {
        let selection = self.selection(&self.sides()?);
        let conducted = self.measuring.run(&selection, None, Some(self.budget))?;
        let Some(conducted) = conducted else {
            return Ok(Exit::Fine);
        };
        self.write(&conducted.findings)?;
        Ok(match conducted.exit {
            Exit::Fine => self.judged(&conducted.findings)?,
            other => other,
        })
    }

    fn sides(&self) -> Result<Sides, Failure> {
        if let (Some([baseline, candidate]), Some(gateway)) = (self.git.as_deref(), &self.gateway) {
            return Sides::of_commits([baseline, candidate], gateway, self.build.as_deref());
        }
        let word = |side: &Option<String>| side.clone().unwrap_or_default();
        Ok(Sides::named(&word(&self.baseline), &word(&self.candidate)))
    }

    fn selection(&self, sides: &Sides) -> Selection {
        let Sides {
            baseline,
            candidate,
        } = sides;
        let called = |side: &Side| Some((side.word.clone(), side.label.clone()?));
        Selection {
            words: vec![SUITE.into()],
            gateways: [candidate, baseline, baseline]
                .map(|side| side.word.clone())
                .into(),
            scenarios: self.scenarios.clone(),
            load: self.load.clone(),
            blocks: self.blocks,
            seed: self.seed,
            gateway_cores: self.gateway_cores,
            study: StudyChoice::Ab(AbChoice {
                metric: self.metric.into(),
                only_deciding: self.verdict_only,
            }),
            labels: BTreeMap::from_iter([candidate, baseline].into_iter().filter_map(called)),
            ..Selection::default()
        }
    }

    fn write(&self, findings: &Findings) -> Result<(), Failure> {
        if let Some(file) = &self.junit {
            write(file, &junit::render(findings))?;
        }
        match &self.comment {
            Some(file) => write(file, &markdown::render(&Comment(findings))),
            None => Ok(()),
        }
    }

    /// The exit code of a run in which nothing went wrong.
    fn judged(&self, findings: &Findings) -> Result<Exit, Failure> {
        let Some(found) = &findings.ab_test else {
            return Ok(Exit::Inconclusive);
        };
        if !self.measuring.json {
            terminal::say(&format!("\n{}", found.text))?;
            found.caution.iter().try_for_each(|it| terminal::say(it))?;
        }
        Ok(match found.decision {
            Decision::Fine => Exit::Fine,
            Decision::Worse => Exit::CheckFailed,
            Decision::Open => Exit::Inconclusive,
        })
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| Failure::Said {
        culprit: "environment".into(),
        what: format!("cannot write {}: {error}", file.display()),
        remedy: "name a file in a directory that exists and is writable".into(),
        exit: Exit::Environment,
    })
}
