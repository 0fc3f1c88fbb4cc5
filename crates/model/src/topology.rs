//! The logical CPUs of a machine, with their cores, NUMA nodes and speeds.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The minimum speed of a CPU as a share of the speed of the fastest CPU of the same kind. Favored
/// cores are only a few percent faster than the others, but efficiency cores are much slower.
const SAME_KIND_MIN: f64 = 0.85;

/// A logical CPU, with its core, socket and NUMA node. Values that cannot be read are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The kernel's number for the CPU.
    pub number: usize,
    /// The logical CPUs of the CPU's core in ascending order, including this one.
    pub threads: Vec<usize>,
    /// The kernel's number for the core, unique within the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<i64>,
    /// The kernel's number for the socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<i64>,
    /// The kernel's number for the NUMA node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// Capacity or highest frequency, comparable only between the CPUs of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u64>,
}

/// The logical CPUs that a process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Topology {
    cpus: Vec<Cpu>,
}

/// The usable part of a physical core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Core {
    /// The logical CPUs that may be used, in ascending order; never empty.
    pub(crate) cpus: Vec<usize>,
    pub(crate) node: Option<usize>,
    /// 0 for the fastest kind of core, 1 for the next fastest kind, and so on.
    pub(crate) kind: usize,
}

impl Topology {
    /// A machine with these CPUs, which may be given in any order.
    pub fn new(mut cpus: Vec<Cpu>) -> Self {
        cpus.sort_by_key(|cpu| cpu.number);
        cpus.dedup_by_key(|cpu| cpu.number);
        Self { cpus }
    }

    /// A machine with identical CPUs, each with its own core.
    pub fn flat(numbers: &[usize]) -> Self {
        let alone = |&number| Cpu {
            number,
            threads: vec![number],
            ..Cpu::default()
        };
        Self::new(numbers.iter().map(alone).collect())
    }

    /// The CPUs in ascending order.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// The numbers of the CPUs in ascending order.
    pub fn numbers(&self) -> Vec<usize> {
        self.cpus.iter().map(|cpu| cpu.number).collect()
    }

    /// Lists the CPUs of each core, by package, node and speed: `package 0, node 0: 0+4 1+5`.
    pub fn in_words(&self) -> Vec<String> {
        let mut places: Vec<(String, Vec<String>)> = Vec::new();
        for core in self.cores() {
            let first = self.cpus.iter().find(|cpu| cpu.number == core.cpus[0]);
            let place = first.map(place).unwrap_or_default();
            let cpus: Vec<String> = core.cpus.iter().map(ToString::to_string).collect();
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, cores)) => cores.push(cpus.join("+")),
                None => places.push((place, vec![cpus.join("+")])),
            }
        }
        let line = |(place, cores): (String, Vec<String>)| match place.is_empty() {
            true => cores.join(" "),
            false => format!("{place}: {}", cores.join(" ")),
        };
        places.into_iter().map(line).collect()
    }

    /// The cores in order of their first CPU.
    pub(crate) fn cores(&self) -> Vec<Core> {
        let kinds = self.kinds();
        let mut cores: Vec<(&[usize], Core)> = Vec::new();
        for cpu in &self.cpus {
            let mut known = cores.iter_mut();
            if let Some((_, core)) = known.find(|(threads, _)| threads.contains(&cpu.number)) {
                core.cpus.push(cpu.number);
                continue;
            }
            let core = Core {
                cpus: vec![cpu.number],
                node: cpu.node,
                kind: kind_of(cpu, &kinds),
            };
            cores.push((&cpu.threads, core));
        }
        cores.into_iter().map(|(_, core)| core).collect()
    }

    /// The CPUs of each multi-threaded core, including those that may not be used.
    pub(crate) fn siblings(&self) -> BTreeSet<&[usize]> {
        let threads = self.cpus.iter().map(|cpu| &cpu.threads[..]);
        threads.filter(|threads| threads.len() > 1).collect()
    }

    /// The highest speed of each kind of core, the fastest first.
    fn kinds(&self) -> Vec<u64> {
        let mut speeds: Vec<u64> = self.cpus.iter().filter_map(|cpu| cpu.speed).collect();
        speeds.sort_unstable_by(|one, other| other.cmp(one));
        let mut kinds: Vec<u64> = Vec::new();
        for speed in speeds {
            let is_new = kinds
                .last()
                .is_none_or(|first| (speed as f64) < SAME_KIND_MIN * *first as f64);
            if is_new {
                kinds.push(speed);
            }
        }
        kinds
    }
}

fn place(cpu: &Cpu) -> String {
    let facts = [
        cpu.package.map(|package| format!("package {package}")),
        cpu.node.map(|node| format!("node {node}")),
        cpu.speed.map(|speed| format!("speed {speed}")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the index of the slowest kind that is at least as fast as the CPU, or that of the
/// fastest kind if the CPU's speed is unknown.
fn kind_of(cpu: &Cpu, kinds: &[u64]) -> usize {
    let speed = cpu.speed.unwrap_or(u64::MAX);
    let slower = kinds.iter().rposition(|fastest| speed <= *fastest);
    slower.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_similar_speed_are_of_one_kind() {
        let topology = |speeds: &[u64]| {
            let cpu = |(number, speed): (usize, &u64)| Cpu {
                number,
                threads: vec![number],
                speed: Some(*speed),
                ..Cpu::default()
            };
            Topology::new(speeds.iter().enumerate().map(cpu).collect())
        };
        let kinds = |speeds: &[u64]| -> Vec<usize> {
            let cores = topology(speeds).cores();
            cores.iter().map(|core| core.kind).collect()
        };
        assert_eq!(kinds(&[4_900, 5_200, 5_000, 3_900]), [0, 0, 0, 1]);
        assert_eq!(kinds(&[250, 250, 1_024, 700]), [2, 2, 0, 1]);
        assert_eq!(kinds(&[0, 0]), [0, 0]);
        assert_eq!(Topology::flat(&[3, 1]).numbers(), [1, 3]);
    }
}
