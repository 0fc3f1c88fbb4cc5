//! `gatebench soak GATEWAY`.

use std::path::PathBuf;

use clap::Args;
use gatebench_model::load::{Closed, Open};
use gatebench_model::{HumanDuration, Shape};
use gatebench_runner::Selection;
use gatebench_studies::soak::plan::SoakChoice;

use super::run::measuring::Measuring;
use super::values::{in_units, measured, rate};
use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  gatebench soak nginx                                 2,000 requests/s for an hour
  gatebench soak ./mine --duration 24h --rate 5000
  gatebench soak kong --scenario api-key --connections 64 --duration 2h
  gatebench soak nginx --growth 512KiB                 tolerate this growth per hour
  gatebench soak --resume gatebench-runs/soak-20260102T030405Z

gatebench records memory, file descriptors, connections, restarts, checks and latency each second.
It judges memory by its lower envelope: the memory that remains after the gateway has freed some.
After Ctrl-C, gatebench keeps and reports the data collected so far; --resume then measures the
remaining time with a fresh process and judges the two parts separately.

Exit code: 1 if memory, file descriptors, connections or a pool of the gateway leak, if a process
ended, or if requests failed; 4 if one of these resources grows only towards the end, or if it is
uncertain whether memory leaks; otherwise as for `gatebench run`.";

/// Load a gateway for a long time, and report whether it leaks memory or other resources
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Soak {
    /// The gateway: a name, NAME@VERSION, NAME@/PREFIX, or a folder
    #[arg(value_name = "GATEWAY", default_value = "reference")]
    gateway: String,
    /// Measure this scenario (name or file) [default: proxy-json]
    #[arg(long, value_name = "NAME|FILE")]
    scenario: Option<String>,
    /// Measure for this long, after a warm-up of a tenth of this time (at most 1m) [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = measured)]
    duration: Option<HumanDuration>,
    /// Send N requests per second, whether or not responses arrive [default: 2000]
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Keep N connections busy, each with one request in flight; with --rate, open at most N
    /// connections
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: Option<u32>,
    /// Ignore memory growth up to this amount per hour
    #[arg(long, value_name = "BYTES", default_value = "4MiB", value_parser = bytes)]
    growth: u64,
    /// Give the gateway N cores and N workers [default: 1]
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    /// Continue the interrupted soak in this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "gateway", "scenario", "duration", "rate", "connections", "growth", "gateway_cores", "dir",
    ])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Soak {
    pub fn run(self) -> Result<Exit, Failure> {
        let resume = self.resume.as_deref();
        self.measuring.run(&self.selection(), resume, None)
    }

    fn selection(&self) -> Selection {
        Selection {
            words: vec!["soak".into()],
            gateways: vec![self.gateway.clone()],
            scenarios: self.scenario.iter().cloned().collect(),
            gateway_cores: self.gateway_cores,
            shape: self.shape(),
            study: Box::new(SoakChoice {
                duration: self.duration,
                growth_bytes_per_hour: self.growth,
            }),
            ..Selection::default()
        }
    }

    fn shape(&self) -> Option<Shape> {
        match (self.rate, self.connections) {
            (Some(rate), most) => {
                let mut open = Open::new(rate);
                open.connections_max = most.unwrap_or(open.connections_max);
                Some(Shape::Open(open))
            }
            (None, Some(connections)) => Some(Shape::Closed(Closed::new(connections))),
            (None, None) => None,
        }
    }
}

/// Parses a size: `512KiB`, `4MiB`, `1GiB`, or bytes.
fn bytes(word: &str) -> Result<u64, String> {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0), ("", 0)];
    in_units(word, &units).ok_or_else(|| {
        "this is not a size: write bytes with a unit, for example 512KiB, 4MiB or 1GiB".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_with_their_unit() {
        assert_eq!(bytes("4MiB"), Ok(4 << 20));
        assert_eq!(bytes("512KiB"), Ok(512 << 10));
        assert_eq!(bytes("100"), Ok(100));
        for wrong in ["", "MiB", "4MB", "-1KiB", "99999999999999GiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
