//! Parsers for the option values of `gatebench run`, and a run's default directory.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use gatebench_model::limits::MILLIS_PER_CPU;
use gatebench_model::study::measure::CONNECTIONS;
use gatebench_model::{Limits, Place};
use jiff::Timestamp;

use crate::commands::values::in_units;

const FOLDER: &str = "gatebench-runs";

/// Returns `gatebench-runs/SUITE-20260102T030405Z`, with a number appended if that directory
/// exists.
pub fn default_dir(suite: &str) -> PathBuf {
    let name = format!("{suite}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    free(&Path::new(FOLDER).join(name))
}

fn free(dir: &Path) -> PathBuf {
    let numbered = (2..).map(|number| PathBuf::from(format!("{}-{number}", dir.display())));
    std::iter::once(dir.to_owned())
        .chain(numbered)
        .find(|dir| !dir.exists())
        .unwrap_or_else(|| dir.to_owned())
}

/// Returns the help text of `--at`, which contains the number of connections.
pub(super) fn help_of_at() -> String {
    format!(
        "Also measure latency at these shares of each gateway's own saturation, for example \
         50%,70%,90%; after the load, the saturation of the same process is determined with {CONNECTIONS} connections"
    )
}

const PODS_MAX: u32 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentsAt {
    /// The number of pods, with --kubernetes.
    Pods(u32),
    /// The machines, without --kubernetes.
    Places(Vec<Place>),
}

impl FromStr for AgentsAt {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word.parse() {
            Ok(number) if (1..=PODS_MAX).contains(&number) => Ok(Self::Pods(number)),
            Ok(_) => Err(format!("write a number from 1 to {PODS_MAX}")),
            Err(_) => Ok(Self::Places(word.split(',').map(Place::from).collect())),
        }
    }
}

pub(super) fn percent(word: &str) -> Result<u32, String> {
    let digits = word.trim().strip_suffix('%');
    let percent = digits.and_then(|digits| digits.parse::<u32>().ok());
    percent
        .filter(|percent| (1..=99).contains(percent))
        .ok_or_else(|| "write whole percentages from 1% to 99%, for example 50%,70%,90%".into())
}

/// The minimum CPU limit, in thousandths of a CPU: the kernel requires at least one millisecond of
/// each 100 ms period.
const CPU_MILLIS_MIN: u32 = 10;
/// The maximum CPU limit, in CPUs. It catches typos.
const CPUS_MAX: f64 = 4_096.0;

pub(super) fn cpu_millis(word: &str) -> Result<u32, String> {
    let cpus: f64 = word
        .parse()
        .map_err(|_| "write a number of CPUs, for example 0.5 or 2".to_owned())?;
    let millis = (cpus * f64::from(MILLIS_PER_CPU)).round();
    if (0.0..=CPUS_MAX).contains(&cpus) && millis >= f64::from(CPU_MILLIS_MIN) {
        Ok(millis as u32)
    } else {
        Err("write at least 0.01 CPU and at most 4096 CPUs".into())
    }
}

/// Parses an amount of memory, such as `256M`, and returns it in bytes. The units are powers of
/// 1,024.
pub(super) fn bytes(word: &str) -> Result<u64, String> {
    let word = word.to_ascii_lowercase();
    let word = word
        .strip_suffix("ib")
        .or_else(|| word.strip_suffix('i'))
        .unwrap_or(&word);
    in_units(word, &[("g", 30), ("m", 20), ("k", 10)])
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "write a size with a unit, for example 256M or 1G".into())
}

/// Combines each number of CPUs with each amount of memory.
pub(super) fn sizes(cpu_millis: &[u32], memory_bytes: &[u64]) -> Vec<Limits> {
    let cpus = some_or_none(cpu_millis);
    let memories = some_or_none(memory_bytes);
    let with_each_memory = |cpu_millis: Option<u32>| {
        memories.iter().map(move |&memory_bytes| Limits {
            cpu_millis,
            memory_bytes,
        })
    };
    let all = cpus.into_iter().flat_map(with_each_memory);
    all.filter(|limits| !limits.is_none()).collect()
}

/// Pairs each number of CPUs with the amount of memory at the same position. If the lists differ in
/// length, combines all of them as in [`sizes`].
pub(super) fn paired_sizes(cpu_millis: &[u32], memory_bytes: &[u64]) -> Vec<Limits> {
    if cpu_millis.len() != memory_bytes.len() {
        return sizes(cpu_millis, memory_bytes);
    }
    let pairs = cpu_millis.iter().zip(memory_bytes);
    let pair = |(cpu_millis, memory_bytes): (&u32, &u64)| Limits {
        cpu_millis: Some(*cpu_millis),
        memory_bytes: Some(*memory_bytes),
    };
    pairs.map(pair).collect()
}

fn some_or_none<T: Copy>(amounts: &[T]) -> Vec<Option<T>> {
    if amounts.is_empty() {
        vec![None]
    } else {
        amounts.iter().copied().map(Some).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_in_the_same_second_has_its_own_directory() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("tour");
        assert_eq!(free(&dir), dir);
        std::fs::create_dir(&dir).unwrap();
        assert_eq!(free(&dir), parent.path().join("tour-2"));
    }

    #[test]
    fn shares_are_whole_percentages_below_100() {
        assert_eq!(percent("50%"), Ok(50));
        assert_eq!(percent(" 99%"), Ok(99));
        for wrong in ["0%", "100%", "150%", "x", "50", "12.5%", "-5%", "%", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cpus_may_be_fractions_and_memory_needs_a_unit() {
        assert_eq!(cpu_millis("0.5"), Ok(500));
        assert_eq!(cpu_millis("16"), Ok(16_000));
        for wrong in ["0", "-1", "x", "inf", "nan", "1e9"] {
            assert!(cpu_millis(wrong).is_err(), "{wrong}");
        }
        assert_eq!(bytes("256M"), Ok(256 << 20));
        assert_eq!(bytes("1gib"), Ok(1 << 30));
        assert_eq!(bytes("512Mi"), Ok(512 << 20));
        for wrong in ["256", "0M", "M", "1T", "99999999999999999999G", "1é"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_number_of_cpus_has_every_amount_of_memory() {
        assert!(sizes(&[], &[]).is_empty());
        let written = |all: Vec<Limits>| Vec::from_iter(all.iter().map(ToString::to_string));
        assert_eq!(written(sizes(&[500, 1_000], &[])), ["0.5 CPU", "1 CPU"]);
        assert_eq!(written(sizes(&[500], &[1 << 20])), ["0.5 CPU and 1 MiB"]);
        assert_eq!(written(sizes(&[], &[1 << 20])), ["1 MiB"]);
        let pairs = paired_sizes(&[500, 4_000], &[1 << 20, 3 << 20]);
        assert_eq!(written(pairs), ["0.5 CPU and 1 MiB", "4 CPU and 3 MiB"]);
        assert_eq!(paired_sizes(&[500, 1_000], &[1 << 20]).len(), 2);
    }
}
