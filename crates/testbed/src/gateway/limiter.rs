//! Chooses the mechanism that enforces a gateway's limits.

use std::process;

use gatebench_model::Limits;
use gatebench_model::limits::MILLIS_PER_CPU;
use serde::{Deserialize, Serialize};

use crate::probe::control_groups;
use crate::system::limit::{Amount, Limit, LimitError};

/// The mechanism that enforces a gateway's limits on CPU time and memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limiter {
    Unlimited,
    /// The gateway's cores, whose number is the CPU limit. The value states why no control group
    /// can be used.
    Cores(String),
    Groups(Vec<Limit>),
    Container(Vec<Amount>),
    Pod,
}

impl Limiter {
    /// Finds the mechanism for a process on this machine, or returns the reason why there is none.
    /// `cores` is the number of cores that the process runs on, if specified.
    pub(crate) fn of_process(limits: Limits, cores: Option<usize>) -> Result<Self, LimitError> {
        if limits.is_none() {
            return Ok(Self::Unlimited);
        }
        let groups = |controller: &str| control_groups(process::id(), controller);
        match Limit::find_all(&amounts(limits), groups) {
            Ok(groups) => Ok(Self::Groups(groups)),
            Err(why) if cores_suffice(limits, cores) => Ok(Self::Cores(why.to_string())),
            Err(why) => Err(why),
        }
    }

    pub(crate) fn of_container(limits: Limits) -> Self {
        match limits.is_none() {
            true => Self::Unlimited,
            false => Self::Container(amounts(limits)),
        }
    }

    pub(crate) fn of_pod(limits: Limits) -> Self {
        match limits.is_none() {
            true => Self::Unlimited,
            false => Self::Pod,
        }
    }

    /// Returns the mechanism's name for reports; none if there are no limits.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::Unlimited => None,
            Self::Cores(_) => Some("cores"),
            Self::Groups(groups) => Some(match groups.first().is_some_and(|it| it.unified) {
                true => "cgroup v2",
                false => "cgroup v1",
            }),
            Self::Container(_) => Some("its container"),
            Self::Pod => Some("its pod"),
        }
    }

    pub(crate) fn groups(&self) -> &[Limit] {
        match self {
            Self::Groups(groups) => groups,
            _ => &[],
        }
    }

    pub(crate) fn amounts(&self) -> &[Amount] {
        match self {
            Self::Container(amounts) => amounts,
            _ => &[],
        }
    }
}

/// Reports whether these limits can be enforced for gateways that run as processes on this machine.
pub(crate) fn can_hold(limits: Limits) -> bool {
    Limiter::of_process(limits, limits.whole_cpus()).is_ok()
}

/// Returns the reason why no control group can limit the CPU time and the memory of a gateway on
/// this machine; none if a control group can limit them.
pub fn refusal_of_groups() -> Option<String> {
    let limits = Limits {
        cpu_millis: Some(MILLIS_PER_CPU / 2),
        memory_bytes: Some(1 << 28),
    };
    let refused = Limiter::of_process(limits, None).err();
    refused.map(|why| why.to_string())
}

fn amounts(limits: Limits) -> Vec<Amount> {
    let cpu = limits.cpu_millis.map(Amount::CpuMillis);
    let memory = limits.memory_bytes.map(Amount::MemoryBytes);
    cpu.into_iter().chain(memory).collect()
}

fn cores_suffice(limits: Limits, cores: Option<usize>) -> bool {
    let whole = |millis: u32| millis.is_multiple_of(MILLIS_PER_CPU);
    limits.cpu_millis.is_some_and(whole)
        && limits.memory_bytes.is_none()
        && cores == limits.whole_cpus()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_replace_only_limits_of_whole_cpus() {
        for (cpu_millis, memory_bytes, cores, expected) in [
            (Some(2_000), None, Some(2), true),
            (Some(500), None, Some(1), false),
            (Some(1_000), None, Some(2), false),
            (Some(1_000), None, None, false),
            (Some(1_000), Some(1 << 20), Some(1), false),
            (None, Some(1 << 20), None, false),
        ] {
            let limits = Limits {
                cpu_millis,
                memory_bytes,
            };
            assert_eq!(
                cores_suffice(limits, cores),
                expected,
                "{limits:?} {cores:?}"
            );
        }
    }
}
