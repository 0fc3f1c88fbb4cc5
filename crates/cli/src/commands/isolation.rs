//! `gatebench isolation GATEWAY`.

use clap::Args;
use gatebench_analysis::Findings;
use gatebench_analysis::findings::Decision;
use gatebench_model::HumanDuration;
use gatebench_model::load::Open;
use gatebench_model::{Length, Shape};
use gatebench_runner::{IsolationChoice, Selection, StudyChoice};

use super::run::measuring::Measuring;
use super::soak::rate;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// The suite that the scenario and the load come from.
const SUITE: &str = "isolation";

const EXAMPLES: &str = "\
Examples:
  gatebench isolation                                  the reference gateway, soap-1-errors
  gatebench isolation ./mine --scenario soap-1-errors --scenario soap-3-errors
  gatebench isolation kong --scenario good-and-failing --rate 5000
  gatebench isolation ./mine --scenario mine.yaml --group paying --blocks 20

Each block has three fresh processes in random order: the good group beside the failing ones, beside groups
that send what it sends itself, and beside those once more. Rates are the same in all three. The good group
must keep every check; its latency and its rate are compared by paired blocks.

Exits with 1 where the good group is harmed, 4 where nothing may be said, else 0.";

/// Tests whether requests that fail harm others
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Isolation {
    /// The gateway: a name, NAME@VERSION, NAME@/PREFIX, or a folder
    #[arg(value_name = "GATEWAY", default_value = "reference")]
    gateway: String,
    /// A scenario with a good group and failing ones, by name or file (repeatable); without, soap-1-errors
    #[arg(long = "scenario", value_name = "NAME or FILE")]
    scenarios: Vec<String>,
    /// The group that must not be harmed; without, the one called `good`, else the first
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Requests per second of all groups together [default: 2000]
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Blocks; at least 10 are needed for a verdict [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000))]
    blocks: Option<u32>,
    /// The most time it may take: no block is begun that would hardly end within it
    #[arg(long, value_name = "TIME")]
    budget: Option<HumanDuration>,
    /// 3 blocks of 2 s: whether checks are kept, without a verdict on latency
    #[arg(long)]
    quick: bool,
    /// Seed of the order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Cores (and workers) of the gateway; without, one
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Isolation {
    /// Tests it, and says what came of it.
    pub fn run(self) -> Result<Exit, Failure> {
        let conducted = self.measuring.run(&self.selection(), None, self.budget)?;
        let Some(conducted) = conducted else {
            return Ok(Exit::Fine);
        };
        self.judged(conducted.exit, &conducted.findings)
    }

    fn selection(&self) -> Selection {
        Selection {
            words: vec![SUITE.into()],
            gateways: vec![self.gateway.clone()],
            scenarios: self.scenarios.clone(),
            blocks: self.blocks,
            seed: self.seed,
            gateway_cores: self.gateway_cores,
            shape: self.rate.map(|rate| Shape::Open(Open::new(rate))),
            length: if self.quick {
                Length::Quick
            } else {
                Length::Full
            },
            study: StudyChoice::Isolation(IsolationChoice {
                group: self.group.clone(),
            }),
            ..Selection::default()
        }
    }

    /// The exit code, and the answers once more below the report.
    fn judged(&self, exit: Exit, findings: &Findings) -> Result<Exit, Failure> {
        for found in findings.isolation.iter().filter(|_| !self.measuring.json) {
            terminal::say(&format!("\n{}", found.text))?;
        }
        let decisions = || findings.isolation.iter().map(|it| it.decision);
        let is_whole = decisions().next().is_some();
        Ok(match exit {
            Exit::Fine | Exit::Inconclusive if decisions().any(|it| it == Decision::Worse) => {
                Exit::CheckFailed
            }
            Exit::Fine if !is_whole || decisions().any(|it| it == Decision::Open) => {
                Exit::Inconclusive
            }
            exit => exit,
        })
    }
}
