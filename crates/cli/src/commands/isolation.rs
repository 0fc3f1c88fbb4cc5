//! `gatebench isolation GATEWAY`.

use clap::Args;
use gatebench_model::load::Open;
use gatebench_model::{HumanDuration, Length, Shape};
use gatebench_runner::Selection;
use gatebench_studies::isolation::plan::IsolationChoice;

use super::run::measuring::Measuring;
use super::values::rate;
use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  gatebench isolation                                  the reference gateway, soap-1-errors
  gatebench isolation ./mine --scenario soap-1-errors --scenario soap-3-errors
  gatebench isolation kong --scenario good-and-failing --rate 5000
  gatebench isolation ./mine --scenario mine.yaml --group paying --blocks 20

In each block, gatebench starts three fresh gateway processes in random order. One of them receives
the requests of the good group and of the failing groups. The other two receive a load in which
every group sends the requests of the good group. All three receive requests at the same rates.
Every response to the good group must pass its checks. The latency and the rate of the good group
with and without failing requests are compared block by block.

Exit code: 1 if the good group is harmed, 4 if the verdict is inconclusive, otherwise as for
`gatebench run`.";

/// Test whether failing requests harm other requests
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Isolation {
    /// The gateway: a name, NAME@VERSION, NAME@/PREFIX, or a folder
    #[arg(value_name = "GATEWAY", default_value = "reference")]
    gateway: String,
    /// Use this scenario, which must have a good group and failing groups (name or file;
    /// repeatable) [default: soap-1-errors]
    #[arg(long = "scenario", value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// The group that must not be harmed [default: `good` if it exists, otherwise the first]
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Send N requests per second in all groups together [default: 2000]
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Run N blocks; a verdict needs at least 10 [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000))]
    blocks: Option<u32>,
    /// Start another block only if the whole test will probably still end within this time
    /// [default: no limit]
    #[arg(long, value_name = "TIME")]
    budget: Option<HumanDuration>,
    /// Run only 3 blocks (unless --blocks is given), measuring each process for 2 s: this tests
    /// whether responses pass their checks; 3 blocks give no verdict on latency or rate
    #[arg(long)]
    quick: bool,
    /// Seed for the random order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Give the gateway N cores and N workers [default: 1]
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Isolation {
    pub fn run(self) -> Result<Exit, Failure> {
        self.measuring.run(&self.selection(), None, self.budget)
    }

    fn selection(&self) -> Selection {
        Selection {
            words: vec!["isolation".into()],
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
            study: Box::new(IsolationChoice {
                group: self.group.clone(),
            }),
            ..Selection::default()
        }
    }
}
