//! `gatebench capacity`: the rate sustained with an objective, and the cores that a rate takes.

mod values;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gatebench_analysis::Findings;
use gatebench_analysis::findings::Answer;
use gatebench_model::load::Spread;
use gatebench_model::{Capacity as Search, HumanDuration, Objective};
use gatebench_runner::{Selection, StudyChoice};
use gatebench_stats::capacity::REPEATS;

use super::run::measuring::Measuring;
use crate::exit::Exit;
use crate::failure::Failure;

/// The suite that gateways and scenario come from without words.
const SUITE: &str = "capacity";

const EXAMPLES: &str = "\
Examples:
  gatebench capacity                               the reference gateway and nginx
  gatebench capacity nginx haproxy --scenario api-key --slo 'p99<10ms, errors<0.1%'
  gatebench capacity ./mine --step 10s --repeat 10
  gatebench capacity nginx --cores 1,2,3,4 --for 60000     how many cores for 60,000 requests/s?
  gatebench capacity nginx --arrivals uniform      requests evenly spaced, which is easier to hold
  gatebench capacity nginx --dry-run
  gatebench capacity --resume gatebench-runs/capacity-20260102T030405Z

Each repeat is a fresh process. The search raises the rate until a step misses the objective, bisects, and
goes up and down near the result; every step is on disk before the next. The result is the rate at which a
step holds the objective with 95 % probability, printed next to the rate at which half of the steps do. A
result limited by engine or upstream is marked as limited, and is a lower bound.

Exits with 0 where every gateway has an answer, 4 where one has none, else as gatebench run does.";

/// Finds the rate that a gateway sustains with an objective, and how many cores a rate takes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Capacity {
    /// Gateways: a name, NAME@VERSION, NAME@/PREFIX or a folder; without, the reference gateway and nginx
    #[arg(value_name = "GATEWAY", conflicts_with = "resume")]
    gateways: Vec<String>,
    /// What they do: a scenario's name or file (repeatable); without, proxy-json
    #[arg(
        long = "scenario",
        value_name = "NAME or FILE",
        conflicts_with = "resume"
    )]
    scenarios: Vec<String>,
    /// Bounds a rate must keep: percentiles of the response time, and the share of errors
    #[arg(
        long,
        visible_alias = "threshold",
        value_name = "BOUNDS",
        default_value = "p99<10ms, errors<0.1%"
    )]
    slo: Objective,
    /// The highest rate that is tried, in requests/s; without, more than the gateway manages
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    max_rate: Option<f64>,
    /// Spread of arrivals over time
    #[arg(long, value_name = "HOW", value_enum, default_value = "poisson")]
    arrivals: Arrivals,
    /// Measured length of a step; the result holds for steps of this length
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = values::step)]
    step: HumanDuration,
    /// Repeats, each with a fresh process; from 3 on there is an interval
    #[arg(long, value_name = "N", default_value_t = REPEATS as u32,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Connections, opened at the most
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// Numbers of cores of each gateway, each searched by itself; without, one
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = values::cores,
          conflicts_with = "resume")]
    cores: Vec<usize>,
    /// Say how many cores this rate takes, in requests/s
    #[arg(long = "for", value_name = "RATE", value_parser = values::rate)]
    size_for: Option<f64>,
    /// The most time it may take: no repeat is begun that would hardly end within it
    #[arg(long, value_name = "TIME")]
    budget: Option<HumanDuration>,
    /// Seed of the order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Go on with a search that was interrupted
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "out"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

/// The spread of arrivals, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Arrivals {
    /// At random, like requests of many independent users
    Poisson,
    /// Evenly
    Uniform,
}

impl From<Arrivals> for Spread {
    fn from(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Poisson => Self::Poisson,
            Arrivals::Uniform => Self::Uniform,
        }
    }
}

impl Capacity {
    /// Searches, and says what came of it.
    pub fn run(self) -> Result<Exit, Failure> {
        let resume = self.resume.as_deref();
        let conducted = self.measuring.run(&self.selection(), resume, self.budget)?;
        let Some(conducted) = conducted else {
            return Ok(Exit::Fine);
        };
        Ok(match conducted.exit {
            Exit::Fine if !is_answered(&conducted.findings) => Exit::Inconclusive,
            other => other,
        })
    }

    fn selection(&self) -> Selection {
        // One number needs no name of its own.
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
            study: StudyChoice::Capacity(Search {
                objective: self.slo.clone(),
                step: self.step,
                connections: self.connections,
                arrivals: self.arrivals.into(),
                rate_max_per_second: self.max_rate,
                size_for_per_second: self.size_for,
            }),
            ..Selection::default()
        }
    }
}

/// Every gateway that was searched has a rate, and every size that was asked for is known.
fn is_answered(findings: &Findings) -> bool {
    let Some(found) = &findings.capacity else {
        return false;
    };
    let has_rate =
        |answer: &Option<Answer>| matches!(answer, Some(Answer::Found(_) | Answer::AtLeast { .. }));
    found.gateways.iter().all(|it| has_rate(&it.answer))
        && found.sizings.iter().all(|it| it.sizing.is_some())
}
