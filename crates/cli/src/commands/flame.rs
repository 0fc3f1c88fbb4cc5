//! `gatebench flame GATEWAY [GATEWAY]`.

use clap::{Args, ValueEnum};
use gatebench_model::HumanDuration;
use gatebench_model::load::{Closed, Open};
use gatebench_model::{Flame as Profile, Shape, Stacks};
use gatebench_runner::{FlameChoice, Selection, StudyChoice};

use super::run::measuring::Measuring;
use super::soak::rate;
use super::values::measured;
use crate::exit::Exit;
use crate::failure::Failure;

/// The suite that the scenario and the load come from.
const SUITE: &str = "flame";

const EXAMPLES: &str = "\
Examples:
  gatebench flame nginx                                a flame graph, and a table of functions
  gatebench flame ./mine nginx                         both, and the difference
  gatebench flame envoy@1.39 envoy@1.40 --scenario jwt-hs256
  gatebench flame traefik --stacks frame-pointers      Go has them: cheaper to sample

Samples the stacks of each gateway by perf (Debian: linux-perf) while it is measured. Shares of
samples are told as CPU time per request, so that gateways of different speed can be set beside each
other. Sampling costs: use `gatebench run` for what a gateway costs, this for where. A run that is
stopped by Ctrl-C keeps what was sampled.";

/// Shows where a gateway's CPU time goes, or how two differ in it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Flame {
    /// One gateway or two: names, NAME@VERSION, NAME@/PREFIX, or folders
    #[arg(value_name = "GATEWAY", default_value = "reference", num_args = 1..=2)]
    gateways: Vec<String>,
    /// What it does: a scenario's name or file; without, proxy-json
    #[arg(long, value_name = "NAME or FILE")]
    scenario: Option<String>,
    /// How long it is sampled [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = measured)]
    duration: Option<HumanDuration>,
    /// Connections that each send as soon as they are answered [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "rate")]
    connections: Option<u32>,
    /// Requests per second instead, whether answers come or not
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Samples in a second of CPU time
    #[arg(long, value_name = "N", default_value = "499", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frequency: u32,
    /// How callers are found
    #[arg(long, value_enum, default_value = "dwarf")]
    stacks: StacksWord,
    /// Cores (and workers) of the gateway; without, one
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    #[command(flatten)]
    measuring: Measuring,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StacksWord {
    /// By unwind tables, which most programs have
    Dwarf,
    /// By frame pointers, where a program is built with them
    FramePointers,
}

impl From<StacksWord> for Stacks {
    fn from(word: StacksWord) -> Self {
        match word {
            StacksWord::Dwarf => Self::Dwarf,
            StacksWord::FramePointers => Self::FramePointers,
        }
    }
}

impl Flame {
    /// Samples them, and says what came of it.
    pub fn run(self) -> Result<Exit, Failure> {
        let conducted = self.measuring.run(&self.selection(), None, None)?;
        Ok(conducted.map_or(Exit::Fine, |it| it.exit))
    }

    fn selection(&self) -> Selection {
        let open = self.rate.map(|rate| Shape::Open(Open::new(rate)));
        let closed = self.connections.map(|it| Shape::Closed(Closed::new(it)));
        Selection {
            words: vec![SUITE.into()],
            gateways: self.gateways.clone(),
            scenarios: self.scenario.iter().cloned().collect(),
            gateway_cores: self.gateway_cores,
            shape: open.or(closed),
            study: StudyChoice::Profile(FlameChoice {
                duration: self.duration,
                flame: Profile {
                    samples_per_second: self.frequency,
                    stacks: self.stacks.into(),
                },
            }),
            ..Selection::default()
        }
    }
}
