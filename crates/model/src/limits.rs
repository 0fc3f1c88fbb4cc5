//! The resource limits of gateways and pods.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MILLIS_PER_CPU: u32 = 1_000;

/// The resource limits of a process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The CPU limit, in thousandths of a CPU: 500 is half a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    /// The memory limit, which includes the page cache that the processes fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl Limits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The number of cores that the CPU limit could fill, rounded up.
    pub fn whole_cpus(&self) -> Option<usize> {
        self.cpu_millis
            .map(|millis| millis.div_ceil(MILLIS_PER_CPU) as usize)
    }

    pub fn cpus(&self) -> Option<f64> {
        self.cpu_millis
            .map(|millis| f64::from(millis) / f64::from(MILLIS_PER_CPU))
    }
}

/// Writes the limits, as in `0.5 CPU and 256 MiB`.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = self.cpus().map(|cpus| format!("{cpus} CPU"));
        let memory = self.memory_bytes.map(binary_bytes);
        let words: Vec<String> = cpu.into_iter().chain(memory).collect();
        f.write_str(&words.join(" and "))
    }
}

/// Formats a size in the largest binary unit that yields a whole number.
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
}
