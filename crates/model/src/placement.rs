//! The cores that each component runs on.

mod layout;
mod notes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::place::{Place, Places};
use crate::topology::Topology;

/// The cores that each component is pinned to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Cores of the gateway under test.
    pub gateway: Vec<usize>,
    /// Cores of the load generator, one worker each.
    pub engine: Vec<usize>,
    /// Cores of the upstream, one worker each.
    pub upstream: Vec<usize>,
    /// Sentences that describe the placement and its consequences to the reader.
    pub note: String,
    /// True if the gateway's cores are on another host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gateway_is_elsewhere: bool,
    /// The CPUs of each multi-threaded core of this machine that contains a pinned CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<Vec<usize>>,
}

/// A number of gateway cores that a machine cannot provide.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    #[error(
        "the gateway cannot have {asked} cores: gatebench can use {available} in total, and give the gateway at most {most}"
    )]
    Here {
        asked: usize,
        available: usize,
        most: usize,
    },
    #[error("the gateway cannot have {asked} cores on {host}: it can have at most {available}")]
    Elsewhere {
        asked: usize,
        available: usize,
        /// The host, as the user named it.
        host: String,
    },
}

pub const SHARED_CORE_REMEDY: &str =
    "use a machine with more physical cores, or fewer CPUs for the gateway (--gateway-cores)";

impl Placement {
    /// Returns a placement on the CPUs of the topology, with one core for the gateway, and at most
    /// two each for the load generator and the upstream. A single CPU is shared by all three. If
    /// there are no CPUs, nothing is pinned.
    pub fn automatic(topology: &Topology) -> Self {
        match topology.cpus() {
            [] => Self {
                note: "The list of cores could not be read, so nothing is pinned and the figures can be \
                       compared only roughly."
                    .into(),
                ..Self::default()
            },
            [only] => Self {
                gateway: vec![only.number],
                engine: vec![only.number],
                upstream: vec![only.number],
                note: "The gateway, the load generator and the upstream share the only core: throughput and latency are \
                       those of all three together and cannot be compared with another machine's; CPU per request is still valid."
                    .into(),
                ..Self::default()
            },
            _ => Self::split(topology, 1),
        }
    }

    /// Reports whether the load generator is pinned to cores of this machine, and neither the
    /// gateway nor the upstream uses a thread of these physical cores. A load generator that never
    /// sleeps would slow down a component with which it shares a physical core.
    pub fn engine_is_alone(&self) -> bool {
        let others = self.gateway_here().iter().chain(&self.upstream);
        let is_apart = |other: &usize| {
            let mut engine = self.engine.iter();
            engine.all(|own| own != other && !self.are_siblings(*own, *other))
        };
        !self.engine.is_empty() && others.into_iter().all(is_apart)
    }

    /// Reports whether the load generator or the upstream runs on a sibling thread of one of the
    /// gateway's cores.
    pub fn gateway_has_siblings(&self) -> bool {
        let mut ends = self.engine.iter().chain(&self.upstream);
        ends.any(|end| {
            let mut gateway = self.gateway_here().iter();
            gateway.any(|own| own != end && self.are_siblings(*own, *end))
        })
    }

    /// Reports whether the gateway's cores are on this machine, and neither the load generator nor
    /// the upstream uses them or their sibling threads.
    pub fn gateway_is_alone(&self) -> bool {
        let mut ends = self.engine.iter().chain(&self.upstream);
        let gateway = self.gateway_here();
        !gateway.is_empty()
            && !self.gateway_has_siblings()
            && !ends.any(|end| gateway.contains(end))
    }

    fn gateway_here(&self) -> &[usize] {
        match self.gateway_is_elsewhere {
            true => &[],
            false => &self.gateway,
        }
    }

    /// Returns the CPUs of this machine that the gateway is pinned to, and those that share a
    /// physical core with them.
    pub fn gateway_cores_whole(&self) -> Vec<usize> {
        let own = self.gateway_here();
        let is_shared = |threads: &&Vec<usize>| threads.iter().any(|cpu| own.contains(cpu));
        let shared = self.siblings.iter().filter(is_shared).flatten();
        own.iter().chain(shared).copied().collect()
    }

    fn are_siblings(&self, one: usize, other: usize) -> bool {
        let mut cores = self.siblings.iter();
        cores.any(|threads| threads.contains(&one) && threads.contains(&other))
    }

    /// Returns a placement with `count` cores for the gateway, and at most twice as many each for
    /// the load generator and the upstream.
    ///
    /// # Errors
    /// `count` is 0 or leaves no core for the load generator and the upstream. It may be 1 on a
    /// machine with one core, which everything then shares.
    pub fn with_gateway_cores(topology: &Topology, count: usize) -> Result<Self, PlacementError> {
        let available = topology.len();
        match (available.checked_sub(count), count) {
            (Some(0), 1) => Ok(Self::automatic(topology)),
            (Some(1..), 1..) => Ok(Self::split(topology, count)),
            _ => Err(PlacementError::Here {
                asked: count,
                available,
                most: available.saturating_sub(1).max(1),
            }),
        }
    }

    /// Places the gateway on the last `count` cores of `there`, which belong to another host, and
    /// the load generator and the upstream on this machine's cores.
    ///
    /// # Errors
    /// `count` is 0, or the host has fewer cores.
    pub fn with_gateway_elsewhere(
        here: &Topology,
        host: &str,
        there: &[usize],
        count: usize,
    ) -> Result<Self, PlacementError> {
        let first = there.len().checked_sub(count).filter(|_| count > 0);
        let first = first.ok_or_else(|| PlacementError::Elsewhere {
            asked: count,
            available: there.len(),
            host: host.into(),
        })?;
        let gateway = &there[first..];
        let (engine, upstream) = layout::without_gateway(here, count);
        let rest = match (cores(&engine), cores(&upstream)) {
            (one, other) if one == other => {
                format!("the load generator and the upstream share {one} of this machine")
            }
            (one, other) => {
                format!("on this machine, the load generator has {one} and the upstream {other}")
            }
        };
        let note = format!("The gateway has {} of {host}; {rest}.", cores(gateway));
        Ok(Self {
            gateway: gateway.into(),
            siblings: siblings_of(here, &[&engine[..], &upstream].concat()),
            engine,
            upstream,
            note,
            gateway_is_elsewhere: true,
        })
    }

    pub fn is_all_elsewhere(&self) -> bool {
        self.gateway_is_elsewhere && self.engine.is_empty() && self.upstream.is_empty()
    }

    /// Places everything in pods, and the gateway on these cores of its node. `note` names the
    /// nodes.
    pub fn in_pods(note: String, gateway: Vec<usize>) -> Self {
        Self {
            gateway,
            gateway_is_elsewhere: true,
            note,
            ..Self::default()
        }
    }

    /// Removes the cores of load generators and upstreams that run elsewhere, and adds their places
    /// to the note. The placement of a run in a cluster is returned unchanged.
    pub fn without_those_at(mut self, places: &Places) -> Self {
        let listed = |places: &[Place]| {
            let words: Vec<String> = places.iter().map(Place::to_string).collect();
            words.join(", ")
        };
        if places.cluster.is_some() {
            return self;
        }
        if !places.agents.is_empty() {
            if !places.agents.contains(&Place::Here) {
                self.engine.clear();
            }
            let agents = listed(&places.agents);
            self.note += &format!(" The load generators run on {agents}.");
        }
        if !places.upstream.is_empty() {
            self.upstream.clear();
            let upstream = listed(&places.upstream);
            self.note += &format!(" The upstream runs on {upstream}.");
        }
        self
    }

    /// Divides the CPUs of a machine that has at least two.
    fn split(topology: &Topology, count: usize) -> Self {
        let mut placed = layout::of(topology, count);
        placed.siblings = siblings_of(topology, &placed.used());
        placed.note = notes::of(&placed, topology);
        placed
    }

    /// Returns the CPUs of this machine that a component is pinned to.
    pub fn used(&self) -> Vec<usize> {
        [self.gateway_here(), &self.engine, &self.upstream].concat()
    }
}

/// Returns the multi-threaded cores that contain one of these CPUs.
fn siblings_of(topology: &Topology, used: &[usize]) -> Vec<Vec<usize>> {
    let cores = topology.siblings().into_iter();
    let is_used = |threads: &&[usize]| threads.iter().any(|cpu| used.contains(cpu));
    cores.filter(is_used).map(<[usize]>::to_vec).collect()
}

/// Lists cores: `core 3`, `cores 1-4`, `cores 0, 2-3`.
fn cores(cpus: &[usize]) -> String {
    let noun = if cpus.len() == 1 { "core" } else { "cores" };
    format!("{noun} {}", ranges(cpus))
}

/// Lists numbers: `3`, `1-4`, `0, 2-3`.
fn ranges(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == cpu => *end = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let word = |(start, end): (usize, usize)| match start == end {
        true => start.to_string(),
        false => format!("{start}-{end}"),
    };
    let words: Vec<String> = ranges.into_iter().map(word).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests;
