//! `gatebench flame GATEWAY [GATEWAY]`.

use clap::Args;
use gatebench_model::HumanDuration;
use gatebench_model::load::{Closed, Open};
use gatebench_model::{Flame as Profile, Shape, Stacks};
use gatebench_runner::Selection;
use gatebench_studies::profile::plan::FlameChoice;

use super::run::measuring::Measuring;
use super::values::{Named, measured, one_of, rate};
use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  gatebench flame nginx                                a flame graph, and a table of functions
  gatebench flame ./mine nginx                         both gateways, and their difference
  gatebench flame envoy@1.39 envoy@1.40 --scenario jwt-hs256
  gatebench flame traefik --stacks frame-pointers      Go has frame pointers, which cost less
  gatebench flame kong@/opt/kong-3.8 kong@/opt/kong-3.9 --scenario soap-5
                                                       Lua functions with their file and line

gatebench samples the stacks of each gateway during the measurement. Unless --stacks selects a
method, it uses the gateway's own profiler if its folder has one, and otherwise perf (Debian:
linux-perf). It reports shares of samples as CPU time per request, so that gateways of different
speeds are comparable. Sampling itself costs CPU time: use `gatebench run` to measure how much CPU
time a gateway uses, and this command to see which functions use it. After Ctrl-C, the samples taken
so far are kept.";

/// Show where a gateway's CPU time goes, or how two gateways differ
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Flame {
    /// One or two gateways: names, NAME@VERSION, NAME@/PREFIX, or folders
    #[arg(value_name = "GATEWAY", default_value = "reference", num_args = 1..=2)]
    gateways: Vec<String>,
    /// Measure this scenario (name or file) [default: proxy-json]
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Option<String>,
    /// Sample for this long [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = measured)]
    duration: Option<HumanDuration>,
    /// Keep N connections busy, each with one request in flight [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "rate")]
    connections: Option<u32>,
    /// Send N requests per second, whether or not responses arrive, instead of keeping connections
    /// busy
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Take N samples per second of CPU time
    #[arg(long, value_name = "N", default_value = "499", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frequency: u32,
    /// Sample stacks with this method
    #[arg(long, default_value = "own", value_parser = one_of(&STACKS))]
    stacks: Stacks,
    /// Give the gateway N cores and N workers [default: 1]
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    #[command(flatten)]
    measuring: Measuring,
}

const STACKS: [Named<Stacks>; 3] = [
    (
        "own",
        "Use the gateway's own profiler if its folder has one, otherwise unwind tables",
        Stacks::Own,
    ),
    (
        "dwarf",
        "Use unwind tables, which most programs have",
        Stacks::Dwarf,
    ),
    (
        "frame-pointers",
        "Use frame pointers, which only some programs have",
        Stacks::FramePointers,
    ),
];

impl Flame {
    pub fn run(self) -> Result<Exit, Failure> {
        self.measuring.run(&self.selection(), None, None)
    }

    fn selection(&self) -> Selection {
        let open = self.rate.map(|rate| Shape::Open(Open::new(rate)));
        let closed = self.connections.map(|it| Shape::Closed(Closed::new(it)));
        Selection {
            words: vec!["flame".into()],
            gateways: self.gateways.clone(),
            scenarios: self.scenario.iter().cloned().collect(),
            gateway_cores: self.gateway_cores,
            shape: open.or(closed),
            study: Box::new(FlameChoice {
                duration: self.duration,
                flame: Profile {
                    samples_per_second: self.frequency,
                    stacks: self.stacks,
                },
            }),
            ..Selection::default()
        }
    }
}
