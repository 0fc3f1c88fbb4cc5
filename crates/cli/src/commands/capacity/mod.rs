//! `gatebench capacity`: the rate at which a gateway meets an objective, and the cores that a rate
//! needs.

mod values;

use std::path::PathBuf;

use clap::Args;
use gatebench_model::load::Spread;
use gatebench_model::{Capacity as Search, HumanDuration, Objective};
use gatebench_runner::Selection;
use gatebench_stats::capacity::REPEATS;

use super::run::measuring::Measuring;
use super::values::{SPREADS, one_of};
use crate::exit::Exit;
use crate::failure::Failure;

/// The suite that provides the default gateways and scenario.
const SUITE: &str = "capacity";

const EXAMPLES: &str = "\
Examples:
  gatebench capacity                               the reference gateway and nginx
  gatebench capacity nginx haproxy --scenario api-key --slo 'p99<10ms, errors<0.1%'
  gatebench capacity ./mine --step 10s --repeat 10
  gatebench capacity nginx --cores 1,2,3,4 --for 60000     how many cores for 60,000 requests/s?
  gatebench capacity nginx --arrivals uniform      evenly spaced requests, easier to sustain
  gatebench capacity nginx --dry-run
  gatebench capacity --resume gatebench-runs/capacity-20260102T030405Z

Each repeat starts a fresh process. The search raises the rate until a step misses the objective,
bisects, and then moves up and down near the result; it writes each step to disk before the next.
The result is the rate at which a step meets the objective with 95 % probability, next to the rate
at which half of the steps do. If the load generator or the upstream was the limit, the result is
marked as limited and is a lower bound.

Exit code: 0 if there is a result for every gateway, 4 if one has none, otherwise like gatebench
run.";

/// Find the rate that a gateway sustains, and the cores that a rate needs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Capacity {
    /// The gateways: names, NAME@VERSION, NAME@/PREFIX, or folders [default: reference and nginx]
    #[arg(value_name = "GATEWAY", conflicts_with = "resume")]
    gateways: Vec<String>,
    /// Measure this scenario, a name or file (repeatable) [default: proxy-json]
    #[arg(long = "scenario", value_name = "NAME|FILE", conflicts_with = "resume")]
    scenarios: Vec<String>,
    /// Require these bounds on percentiles of the response time and on the share of errors
    #[arg(
        long,
        visible_alias = "threshold",
        value_name = "BOUNDS",
        default_value = "p99<10ms, errors<0.1%"
    )]
    slo: Objective,
    /// Try at most this rate, in requests/s [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    max_rate: Option<f64>,
    /// How to space the arrivals
    #[arg(long, value_name = "SPACING", default_value = "poisson", value_parser = one_of(&SPREADS))]
    arrivals: Spread,
    /// Measure each step for this time; the result holds for steps of this length
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = values::step)]
    step: HumanDuration,
    /// Repeat the search N times, each with a fresh process; an interval needs at least 3
    #[arg(long, value_name = "N", default_value_t = REPEATS as u32,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Open at most N connections
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// Search with each of these numbers of cores for the gateway [default: 1]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = values::cores, conflicts_with = "resume")]
    cores: Vec<usize>,
    /// Report how many cores this rate needs, in requests/s
    #[arg(long = "for", value_name = "RATE", value_parser = values::rate)]
    size_for: Option<f64>,
    /// Start no repeat that is unlikely to end within this time [default: no limit]
    #[arg(long, value_name = "TIME")]
    budget: Option<HumanDuration>,
    /// Seed for the random order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Continue the interrupted search in this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "dir"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Capacity {
    /// Runs the search and prints its result.
    pub fn run(self) -> Result<Exit, Failure> {
        let resume = self.resume.as_deref();
        self.measuring.run(&self.selection(), resume, self.budget)
    }

    fn selection(&self) -> Selection {
        // A single number needs no label.
        let (gateway_cores, cores) = match self.cores[..] {
            [only] => (Some(only), Vec::new()),
            _ => (None, self.cores.clone()),
        };
        Selection {
            words: vec![SUITE.into()],
            gateways: self.gateways.clone(),
            scenarios: self.scenarios.clone(),
            blocks: Some(self.repeat),
            seed: self.seed,
            gateway_cores,
            cores,
            study: Box::new(Search {
                objective: self.slo.clone(),
                step: self.step,
                connections: self.connections,
                arrivals: self.arrivals,
                rate_max_per_second: self.max_rate,
                size_for_per_second: self.size_for,
            }),
            ..Selection::default()
        }
    }
}
