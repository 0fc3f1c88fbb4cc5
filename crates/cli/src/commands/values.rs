//! Option values that several commands accept.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gatebench_external::Generator;
use gatebench_model::load::Spread;
use gatebench_model::{DecisiveMetric, HumanDuration};
use gatebench_net::Backend;
use gatebench_runner::Library;
use gatebench_testbed::Launcher;
use gatebench_testbed::gateway::Catalogue;

use crate::failure::Failure;

/// The minimum duration of a measurement; a shorter one permits no conclusion about a gateway.
const MEASURED_MIN: HumanDuration = HumanDuration::from_millis(1_000);

pub(crate) fn duration(word: &str) -> Result<HumanDuration, String> {
    let parsed = word.parse::<HumanDuration>();
    parsed.map_err(|error| error.to_string())
}

pub(crate) fn measured(word: &str) -> Result<HumanDuration, String> {
    let span = duration(word)?;
    if span < MEASURED_MIN {
        return Err(format!(
            "measure for at least {MEASURED_MIN}, for example 10s or 30m"
        ));
    }
    Ok(span)
}

/// Parses a rate, in requests or connections per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok();
    rate.filter(|rate| (0.001..=1e8).contains(rate))
        .ok_or_else(|| {
            format!("'{text}' is not a rate: write 0.001 to 100000000, for example 2000 or 0.5")
        })
}

/// Parses a number of bytes with one of these units, each given with its power of two. Returns
/// `None` if the text is not a number with a unit, or if the number of bytes exceeds 64 bits.
pub fn in_units(word: &str, units: &[(&str, u32)]) -> Option<u64> {
    units.iter().find_map(|(unit, power)| {
        let number: u64 = word.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(1_u64 << power)
    })
}

/// A name on the command line, its description in `--help`, and its value.
pub type Named<T> = (&'static str, &'static str, T);

pub fn one_of<T: Copy + Send + Sync + 'static>(
    names: &'static [Named<T>],
) -> impl TypedValueParser<Value = T> {
    let shown = names.iter();
    let shown = shown.map(|(name, meaning, _)| PossibleValue::new(*name).help(*meaning));
    PossibleValuesParser::new(shown).try_map(|word| {
        let found = names.iter().find(|(name, ..)| *name == word);
        found.map(|(.., value)| *value).ok_or("unknown name")
    })
}

pub const SPREADS: [Named<Spread>; 2] = [
    ("uniform", "Evenly spaced", Spread::Uniform),
    (
        "poisson",
        "Randomly spaced, like requests from many independent users",
        Spread::Poisson,
    ),
];

/// An additional source of gateways and scenarios.
#[derive(Clone, Debug, Default, Args)]
pub struct Overlay {
    /// Add the gateways/ and scenarios/ of this directory; they replace embedded ones of the same
    /// name
    #[arg(long, value_name = "DIR")]
    overlay: Option<PathBuf>,
}

impl Overlay {
    pub fn catalogue(&self) -> Catalogue {
        Catalogue::new(self.below("gateways"))
    }

    pub fn scenarios(&self) -> Library {
        Library::new(self.below("scenarios"))
    }

    /// Returns the arguments that pass the same overlay to another command.
    pub fn words(&self) -> Vec<String> {
        let dir = self.overlay.as_ref().map(|dir| dir.display().to_string());
        dir.map_or_else(Vec::new, |dir| vec!["--overlay".to_owned(), dir])
    }

    fn below(&self, folder: &str) -> Option<PathBuf> {
        self.overlay
            .as_ref()
            .map(|dir| dir.join(folder))
            .filter(|dir| dir.is_dir())
    }
}

/// Returns the launcher that starts processes under the supervision of this program.
pub fn launcher() -> Result<Launcher, Failure> {
    Launcher::own().map_err(no_program)
}

pub fn no_program(error: io::Error) -> Failure {
    let what = format!("cannot read the path of the running program: {error}");
    Failure::environment(what, "mount /proc")
}

pub const BACKENDS: [Named<Backend>; 2] = [
    (
        "io_uring",
        "Linux's asynchronous I/O interface, which some kernels and containers forbid",
        Backend::Uring,
    ),
    ("epoll", "Works everywhere", Backend::Epoll),
];

/// An external load generator; `None` for the built-in one.
pub type Engine = Option<Generator>;

pub const ENGINES: [Named<Engine>; 4] = [
    ("gatebench", "The built-in load generator", None),
    ("wrk", "wrk, for closed loads", Some(Generator::Wrk)),
    (
        "h2load",
        "h2load, for closed loads with one kind of request",
        Some(Generator::H2load),
    ),
    (
        "k6",
        "k6, for closed loads, and open loads with uniform arrivals",
        Some(Generator::K6),
    ),
];

pub const METRICS: [Named<DecisiveMetric>; 5] = [
    (
        "cpu",
        "CPU time of the gateway per request",
        DecisiveMetric::Cpu,
    ),
    (
        "throughput",
        "Requests per second under the closed load",
        DecisiveMetric::Throughput,
    ),
    (
        "added-p50",
        "Median of the latency that the gateway adds at a fixed rate",
        DecisiveMetric::AddedP50,
    ),
    (
        "added-p99",
        "99th percentile of the latency that the gateway adds at a fixed rate",
        DecisiveMetric::AddedP99,
    ),
    (
        "memory",
        "Peak memory of the gateway",
        DecisiveMetric::Memory,
    ),
];

/// A list of cores, as in `taskset -c`: `0,1` or `0-3,6`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cores(pub Vec<usize>);

/// The maximum number of cores in a range such as `0-3`. The limit keeps a typo from exhausting
/// memory.
const CORES_MAX: usize = 4096;

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.trim().parse::<usize>(), last.trim().parse()) {
                (Ok(first), Ok(last)) if first <= last && last - first < CORES_MAX => {
                    cores.extend(first..=last);
                }
                _ => return Err(format!("'{text}' is not a list of cores: write 0,1 or 0-3")),
            }
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
