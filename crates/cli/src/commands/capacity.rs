//! `gatebench capacity`: the highest rate at which a gateway meets an objective, and the cores
//! needed for a rate.

use std::path::PathBuf;

use clap::Args;
use gatebench_model::load::Spread;
use gatebench_model::{Capacity as Search, HumanDuration, Objective};
use gatebench_runner::Selection;
use gatebench_stats::capacity::REPEATS;

use super::run::measuring::Measuring;
use super::values::{SPREADS, duration, one_of};
use crate::exit::Exit;
use crate::failure::Failure;

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
bisects, and then moves up and down near the result. Each step is written to disk before the next
one starts. The result is the rate at which a step meets the objective with 95 % probability. The
report also states the rate at which half of the steps meet the objective. If the load generator or
the upstream was the limit, the result is marked as limited and is a lower bound.

Exit code: 0 if there is a result for every gateway; 4 if a gateway has no result, or if a number of
cores cannot be computed; otherwise as for `gatebench run`.";

/// Find the rate that a gateway sustains, and the cores needed for a rate
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Capacity {
    /// The gateways: names, NAME@VERSION, NAME@/PREFIX, or folders [default: reference and nginx]
    #[arg(value_name = "GATEWAY", conflicts_with = "resume")]
    gateways: Vec<String>,
    /// Measure this scenario (name or file; repeatable) [default: proxy-json]
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
    #[arg(long, value_name = "RATE", value_parser = rate)]
    max_rate: Option<f64>,
    /// Spacing of the arrivals
    #[arg(long, value_name = "SPACING", default_value = "poisson", value_parser = one_of(&SPREADS))]
    arrivals: Spread,
    /// Measure each step for this long; the result is valid for steps of this length
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = step)]
    step: HumanDuration,
    /// Repeat the search N times, each with a fresh process; an interval needs at least 3
    #[arg(long, value_name = "N", default_value_t = REPEATS as u32,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Open at most N connections
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// Run a separate search with each of these numbers of gateway cores [default: 1]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = cores, conflicts_with = "resume")]
    cores: Vec<usize>,
    /// Report how many cores are needed for this rate, in requests/s
    #[arg(long = "for", value_name = "RATE", value_parser = rate)]
    size_for: Option<f64>,
    /// Start another repeat only if the whole search will probably still end within this time
    /// [default: no limit]
    #[arg(long, value_name = "TIME")]
    budget: Option<HumanDuration>,
    /// Seed for the random order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Continue the interrupted search in this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "slo", "max_rate", "arrivals", "step", "repeat", "connections", "size_for", "seed",
        "dry_run", "dir",
    ])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Capacity {
    pub fn run(self) -> Result<Exit, Failure> {
        let resume = self.resume.as_deref();
        self.measuring.run(&self.selection(), resume, self.budget)
    }

    fn selection(&self) -> Selection {
        // A single number of cores needs no label.
        let (gateway_cores, cores) = match self.cores[..] {
            [only] => (Some(only), Vec::new()),
            _ => (None, self.cores.clone()),
        };
        Selection {
            words: vec!["capacity".into()],
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

/// The maximum rate in a load profile, in requests per second.
const RATE_MAX: f64 = 1e8;

/// The minimum length of a step. At most rates, a shorter step would contain too few samples.
const STEP_MIN: HumanDuration = HumanDuration::from_millis(200);

/// Parses a rate in requests per second, such as `20000` or `20k`.
fn rate(word: &str) -> Result<f64, String> {
    let (digits, factor) = match word.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => (word, 1.0),
    };
    let rate = digits.parse::<f64>().map(|rate| rate * factor).ok();
    rate.filter(|rate| (1.0..=RATE_MAX).contains(rate))
        .ok_or_else(|| "write 1 to 100000000 requests per second, for example 20000 or 20k".into())
}

fn step(word: &str) -> Result<HumanDuration, String> {
    let span = duration(word)?;
    if span < STEP_MIN {
        return Err(format!(
            "a step must take at least {STEP_MIN}; the default is 4s"
        ));
    }
    Ok(span)
}

fn cores(word: &str) -> Result<usize, String> {
    let cores = word.trim().parse::<usize>().ok();
    cores
        .filter(|cores| *cores > 0)
        .ok_or_else(|| "write whole numbers of cores, for example 1,2,4".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_may_end_with_k() {
        assert_eq!(rate("20000"), Ok(20_000.0));
        assert_eq!(rate("2.5k"), Ok(2_500.0));
        for wrong in ["", "0", "-1", "k", "fast", "inf", "nan", "1e9", "20 k"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn steps_and_cores_have_a_minimum() {
        assert_eq!(step("10s"), Ok(HumanDuration::from_millis(10_000)));
        assert!(step("100ms").is_err_and(|said| said.contains("at least 200ms")));
        assert!(step("10").is_err());
        assert_eq!(cores("2"), Ok(2));
        assert!(cores("0").is_err() && cores("1.5").is_err());
    }
}
