//! `gatebench ab BASELINE CANDIDATE`.

pub mod sides;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_model::{DecisiveMetric, HumanDuration};
use gatebench_report::{junit, markdown};
use gatebench_runner::Selection;
use gatebench_studies::Findings;
use gatebench_studies::ab::plan::AbChoice;

use super::run::measuring::Measuring;
use super::values::{METRICS, one_of};
use crate::exit::Exit;
use crate::failure::Failure;
use sides::{Side, commits};

const EXAMPLES: &str = "\
Examples:
  gatebench ab nginx ./my-nginx                    is mine worse?
  gatebench ab nginx@1.22 nginx@/opt/nginx-1.26    compare two versions
  gatebench ab haproxy envoy --scenario api-key --metric added-p99
  gatebench ab --config old.yml --config new.yml --gateway kong    compare two configurations
  gatebench ab --git main HEAD --build 'make' --gateway ./gateway
  gatebench ab --git 3.9.0 3.9.1 --build ./over-a-release --gateway kong@prefix
  gatebench ab nginx ./my-nginx --budget 5m --junit ab.xml --comment ab.md

In each block, gatebench starts three fresh processes: the candidate, the baseline, and the baseline
again. The difference between the two baseline processes shows how noisy the machine is. With the
default metric and load, only CPU time per request is measured until there is a verdict, while all
three processes are loaded side by side on the same cores. The intervals stay valid however often
they are checked. If time remains, ten more blocks measure the other metrics: each gateway is then
loaded alone, in random order.

Exit code: 1 if the candidate is worse, 4 if the verdict is inconclusive, otherwise as for
`gatebench run`.";

/// Compare two gateways, versions or commits, and give a verdict
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ab {
    /// The baseline: a gateway's name, NAME@VERSION, NAME@/PREFIX, or a folder
    #[arg(required_unless_present_any = ["git", "configs"])]
    baseline: Option<String>,
    /// The candidate, in the same form as the baseline
    #[arg(required_unless_present_any = ["git", "configs"])]
    candidate: Option<String>,
    /// Compare two configurations of your own, first the baseline's, then the candidate's (see
    /// `gatebench run --config`)
    #[arg(long = "config", value_name = "FILE", conflicts_with_all = ["baseline", "candidate", "git"])]
    configs: Vec<String>,
    /// Compare two commits of your repository; each is cloned and built separately
    #[arg(long, num_args = 2, value_names = ["BASELINE", "CANDIDATE"], requires = "gateway",
          conflicts_with_all = ["baseline", "candidate"])]
    git: Option<Vec<String>>,
    /// With --git, the gateway's folder in your repository, or NAME@PREFIX, where PREFIX is the
    /// program's prefix in each clone; with --config, the gateway that uses the files [default: the
    /// one that reads files of this kind]
    #[arg(long, value_name = "DIR|NAME", conflicts_with_all = ["baseline", "candidate"])]
    gateway: Option<PathBuf>,
    /// Build each commit with this shell command, in the root of its clone
    #[arg(long, value_name = "COMMAND", requires = "git")]
    build: Option<String>,
    /// Measure this scenario (name or file; repeatable) [default: proxy-json]
    #[arg(long = "scenario", value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// Use this load profile (name or file) [default: 64 connections to all gateways side by
    /// side; then 64 connections, and finally 5,000 requests/s, to each gateway alone]
    #[arg(long, value_name = "NAME|FILE")]
    load: Option<String>,
    /// Base the verdict on this metric
    #[arg(long, default_value = "cpu", value_parser = one_of(&METRICS))]
    metric: DecisiveMetric,
    /// Measure only the metric of the verdict, and stop as soon as there is a verdict
    #[arg(long)]
    verdict_only: bool,
    /// Start another block only if the test will probably still end within this time
    #[arg(long, value_name = "TIME", default_value = "10m")]
    budget: HumanDuration,
    /// Run at most N blocks for the verdict, which needs at least 10; blocks that measure only the
    /// other metrics do not count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=2000))]
    blocks: Option<u32>,
    /// Seed for the random order
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
    pub fn run(self) -> Result<Exit, Failure> {
        let measuring = &self.measuring;
        measuring.check_outputs()?;
        let selection = match &self.configs[..] {
            [] => self.selection(&self.sides()?),
            [baseline, candidate] => self.of_configs(baseline, candidate)?,
            _ => {
                let remedy = "write --config BASELINE --config CANDIDATE";
                return Err(Failure::words(
                    "--config",
                    "an A/B test compares two configurations",
                    remedy,
                ));
            }
        };
        let Some(conducted) = measuring.conducted(&selection, None, Some(self.budget))? else {
            return Ok(Exit::Fine);
        };
        self.write(&conducted.findings)?;
        conducted.decided(measuring.json)
    }

    /// With --git, clones both commits, and builds them if --build is given.
    fn sides(&self) -> Result<[Side; 2], Failure> {
        if let (Some([baseline, candidate]), Some(gateway)) = (self.git.as_deref(), &self.gateway) {
            let sides = commits(&[baseline, candidate], gateway, self.build.as_deref())?;
            return Ok(sides.try_into().expect("there is a side for each commit"));
        }
        let named = |side: &Option<String>| Side::named(side.as_deref().unwrap_or_default());
        Ok([named(&self.baseline), named(&self.candidate)])
    }

    fn selection(&self, [baseline, candidate]: &[Side; 2]) -> Selection {
        let called = |side: &Side| Some((side.word.clone(), side.label.clone()?));
        Selection {
            words: vec!["ab".into()],
            gateways: [candidate, baseline, baseline]
                .map(|side| side.word.clone())
                .into(),
            scenarios: self.scenarios.clone(),
            load: self.load.clone(),
            blocks: self.blocks,
            seed: self.seed,
            gateway_cores: self.gateway_cores,
            study: Box::new(AbChoice {
                metric: self.metric,
                only_deciding: self.verdict_only,
            }),
            labels: BTreeMap::from_iter([candidate, baseline].into_iter().filter_map(called)),
            ..Selection::default()
        }
    }

    fn of_configs(&self, baseline: &str, candidate: &str) -> Result<Selection, Failure> {
        let side = Side::named("");
        let gateway = self.gateway.as_ref().map(|it| it.display().to_string());
        let selection = Selection {
            gateways: gateway.into_iter().collect(),
            configs: [candidate, baseline, baseline].map(str::to_owned).into(),
            ..self.selection(&[side.clone(), side])
        };
        Ok(selection.completed()?)
    }

    fn write(&self, findings: &Findings) -> Result<(), Failure> {
        if let Some(file) = &self.junit {
            write(file, &junit::render(findings))?;
        }
        if let Some(file) = &self.comment {
            let comment = findings.comment().as_ref().map(markdown::render);
            write(file, &comment.unwrap_or_default())?;
        }
        Ok(())
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| {
        let what = format!("cannot write {}: {error}", file.display());
        Failure::environment(what, "name a file in a writable directory")
    })
}
