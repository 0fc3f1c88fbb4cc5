//! The settings of a variant of a gateway, in addition to its folder and the scenario.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::GATEWAY;
use crate::{Place, Placement};

/// Thousandths of a CPU in one CPU.
pub const MILLIS_PER_CPU: u32 = 1_000;

/// The user's settings in addition to the gateway's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The requested version, or a prefix of it, as in `1.22`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The absolute path of the user's configuration, which replaces the one that the folder
    /// renders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The gateway's resource limits.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The number of cores on which the gateway runs, with one worker each [default: all].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
    /// The host on which the gateway runs [default: this machine].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// Another host for a gateway, or a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// The host as `ssh` accepts it, or the pods of gateways, of which each gateway and size has
    /// its own.
    pub host: Place,
    /// The private key for the host [default: those of ssh].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    /// The address of the host for the load [default: the address that ssh reaches].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The address at which that host reaches this machine, if it differs from the source of the
    /// SSH connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_address: Option<IpAddr>,
}

/// The resource limits of a process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// CPU time per wall time, in thousandths of a CPU: 500 is half a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    /// Memory, including the page cache that the processes fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl Elsewhere {
    /// The pods of gateways.
    pub fn in_pods() -> Self {
        Self::new(Place::Pod(GATEWAY.to_owned()))
    }

    /// This place, without further settings.
    pub fn new(host: Place) -> Self {
        Self {
            host,
            identity: None,
            address: None,
            upstream_address: None,
        }
    }
}

impl Setup {
    /// Reports whether nothing was requested.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The cores on which the gateway runs.
    pub fn gateway_cores<'a>(&self, placement: &'a Placement) -> &'a [usize] {
        let all = &placement.gateway;
        let count = self.cores.unwrap_or(all.len()).min(all.len());
        &all[all.len() - count..]
    }
}

impl Limits {
    /// Reports whether there is no limit.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The number of cores that the CPU limit could fill, rounded up.
    pub fn whole_cpus(&self) -> Option<usize> {
        self.cpu_millis
            .map(|millis| millis.div_ceil(MILLIS_PER_CPU) as usize)
    }

    /// The CPU limit in CPUs.
    pub fn cpus(&self) -> Option<f64> {
        self.cpu_millis
            .map(|millis| f64::from(millis) / f64::from(MILLIS_PER_CPU))
    }
}

/// Writes `0.5 CPU and 256 MiB`.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpus().map(|cpus| format!("{cpus} CPU"));
        let memory = self.memory_bytes.map(binary_bytes);
        let words: Vec<String> = cpu.into_iter().chain(memory).collect();
        f.write_str(&words.join(" and "))
    }
}

/// The size in the largest binary unit that gives a whole number.
fn binary_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = |(unit, _): &&(u64, &str)| bytes >= *unit && bytes.is_multiple_of(*unit);
    match UNITS.iter().find(whole) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_described_in_words() {
        let limits = |cpu_millis, memory_bytes| Limits {
            cpu_millis,
            memory_bytes,
        };
        assert_eq!(limits(Some(500), None).to_string(), "0.5 CPU");
        let both = limits(Some(16_000), Some(256 << 20));
        assert_eq!(both.to_string(), "16 CPU and 256 MiB");
        assert_eq!(limits(None, Some(1_000)).to_string(), "1000 B");
        assert_eq!(both.whole_cpus(), Some(16));
        assert_eq!(limits(Some(1_001), None).whole_cpus(), Some(2));
    }

    #[test]
    fn a_smaller_gateway_runs_on_the_last_cores() {
        let placement = Placement::with_gateway_cores(&crate::Topology::flat(&[0, 1, 2, 3]), 2)
            .unwrap_or_else(|error| panic!("{error}"));
        let cores = |cores| {
            Setup {
                cores,
                ..Setup::default()
            }
            .gateway_cores(&placement)
            .to_vec()
        };
        assert_eq!(cores(None), [2, 3]);
        assert_eq!(cores(Some(1)), [3]);
        assert_eq!(cores(Some(9)), [2, 3]);
    }
}
