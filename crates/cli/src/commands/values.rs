//! Option values that several commands accept.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use gatebench_external::Generator;
use gatebench_model::load::Spread;
use gatebench_model::{DecisiveMetric, HumanDuration};
use gatebench_net::Backend;
use gatebench_runner::Library;
use gatebench_testbed::Launcher;
use gatebench_testbed::gateway::Catalogue;

use crate::failure::Failure;

/// A shorter measurement permits no conclusion about a gateway.
const MEASURED_MIN: HumanDuration = HumanDuration::from_millis(1_000);

/// Reads a duration.
pub(crate) fn duration(word: &str) -> Result<HumanDuration, String> {
    let parsed = word.parse::<HumanDuration>();
    parsed.map_err(|error| error.to_string())
}

/// Reads the length of a measurement.
pub(crate) fn measured(word: &str) -> Result<HumanDuration, String> {
    let span = duration(word)?;
    if span < MEASURED_MIN {
        return Err(format!(
            "measure for at least {MEASURED_MIN}, for example 10s or 30m"
        ));
    }
    Ok(span)
}

/// Reads a rate, in requests or connections per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok();
    rate.filter(|rate| (0.001..=1e8).contains(rate))
        .ok_or_else(|| {
            format!("'{text}' is not a rate: write requests per second, for example 2000 or 0.5")
        })
}

/// Reads a number of bytes with one of these units, each given with its power of two; none if the
/// text is not such a number.
pub fn in_units(word: &str, units: &[(&str, u32)]) -> Option<u64> {
    units.iter().find_map(|(unit, power)| {
        let number: u64 = word.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(1_u64 << power)
    })
}

/// The spread of arrivals, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpreadWord {
    /// Evenly spaced
    Uniform,
    /// Randomly, like the requests of many independent users
    Poisson,
}

impl From<SpreadWord> for Spread {
    fn from(word: SpreadWord) -> Self {
        match word {
            SpreadWord::Uniform => Self::Uniform,
            SpreadWord::Poisson => Self::Poisson,
        }
    }
}

/// An additional source of gateways and scenarios.
#[derive(Clone, Debug, Default, Args)]
pub struct Overlay {
    /// Add the gateways/ and scenarios/ of this directory; they replace embedded ones of the same
    /// name
    #[arg(long, value_name = "DIR")]
    overlay: Option<PathBuf>,
}

impl Overlay {
    /// The gateways.
    pub fn catalogue(&self) -> Catalogue {
        Catalogue::new(self.below("gateways"))
    }

    /// The scenarios, suites and loads.
    pub fn scenarios(&self) -> Library {
        Library::new(self.below("scenarios"))
    }

    /// The arguments that give another command the same overlay.
    pub fn words(&self) -> Vec<String> {
        let dir = self.overlay.as_ref().map(|dir| dir.display().to_string());
        dir.map_or_else(Vec::new, |dir| vec!["--overlay".to_owned(), dir])
    }

    /// Returns the subfolder if the overlay has it.
    fn below(&self, folder: &str) -> Option<PathBuf> {
        self.overlay
            .as_ref()
            .map(|dir| dir.join(folder))
            .filter(|dir| dir.is_dir())
    }
}

/// Returns the launcher that starts processes under the supervision of this program.
pub fn launcher() -> Result<Launcher, Failure> {
    Launcher::own().map_err(|error| {
        let what = format!("cannot read the path of the running program: {error}");
        Failure::environment(what, "mount /proc")
    })
}

/// An event loop, as the command line calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendWord {
    /// Asynchronous I/O of Linux, if the kernel and the container allow it
    #[value(name = "io_uring")]
    IoUring,
    /// Works everywhere
    Epoll,
}

impl From<BackendWord> for Backend {
    fn from(word: BackendWord) -> Self {
        match word {
            BackendWord::IoUring => Self::Uring,
            BackendWord::Epoll => Self::Epoll,
        }
    }
}

/// A load generator, as the command line calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineWord {
    /// The built-in load generator
    Gatebench,
    /// wrk, for closed loads
    Wrk,
    /// h2load, for closed loads with one kind of request
    H2load,
    /// k6, for closed loads and fixed rates
    K6,
}

impl EngineWord {
    /// An external load generator in place of the built-in one.
    pub fn generator(self) -> Option<Generator> {
        match self {
            Self::Gatebench => None,
            Self::Wrk => Some(Generator::Wrk),
            Self::H2load => Some(Generator::H2load),
            Self::K6 => Some(Generator::K6),
        }
    }
}

/// The metric that decides, as the command line names it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MetricWord {
    /// CPU time of the gateway per request
    Cpu,
    /// Requests per second under the closed load
    Throughput,
    /// Median of the latency that the gateway adds at a fixed rate
    AddedP50,
    /// 99th percentile of the latency that the gateway adds at a fixed rate
    AddedP99,
    /// Peak memory of the gateway
    Memory,
}

impl From<MetricWord> for DecisiveMetric {
    fn from(word: MetricWord) -> Self {
        match word {
            MetricWord::Cpu => Self::Cpu,
            MetricWord::Throughput => Self::Throughput,
            MetricWord::AddedP50 => Self::AddedP50,
            MetricWord::AddedP99 => Self::AddedP99,
            MetricWord::Memory => Self::Memory,
        }
    }
}

/// A list of cores, as in `taskset -c`: `0,1` or `0-3,6`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cores(pub Vec<usize>);

/// More cores than any machine has; a typing error must not exhaust the memory.
const CORES_MAX: usize = 4096;

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first
                .trim()
                .parse::<usize>()
                .ok()
                .zip(last.trim().parse::<usize>().ok());
            let Some((first, last)) =
                range.filter(|(first, last)| first <= last && last - first < CORES_MAX)
            else {
                return Err(format!("'{text}' is not a list of cores: write 0,1 or 0-3"));
            };
            cores.extend(first..=last);
        }
        let twice = (1..cores.len()).find(|at| cores[..*at].contains(&cores[*at]));
        if let Some(at) = twice {
            return Err(format!(
                "'{text}' names core {} twice: write each core once",
                cores[at]
            ));
        }
        Ok(Self(cores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_written_as_for_taskset() {
        assert_eq!("3".parse(), Ok(Cores(vec![3])));
        assert_eq!("0,2-4".parse(), Ok(Cores(vec![0, 2, 3, 4])));
        for wrong in ["", "a", "3-1", "1,,2", "0-99999999", "0,0", "0-2,1"] {
            assert!(wrong.parse::<Cores>().is_err(), "{wrong}");
        }
    }
}
