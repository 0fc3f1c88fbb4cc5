//! A gateway as one variant needs it: its folder with the user's configuration, its program in the
//! version asked for, and its limits as far as this machine sets them.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use gatebench_model::setup::MILLIS_PER_CPU;
use gatebench_model::{Limits, Scenario, Setup};
use gatebench_testbed::probe::{GroupVersion, control_groups};
use gatebench_testbed::{
    Amount, Catalogue, Folder, FoundBinary, Group, Launcher, Limit, Unsupported,
};

use super::remote::RemoteHost;
use crate::error::RunnerError;
use crate::warning::Warning;

/// What to do where no control group can be made.
const NO_GROUPS: &str = "run gatebench as root, or where systemd lets you as \
                         `systemd-run --user --scope gatebench ...`; in a container mount /sys/fs/cgroup writable";

/// A gateway that was found.
#[derive(Clone, Debug)]
pub struct PreparedGateway {
    /// What it is.
    pub folder: Folder,
    /// Its program.
    pub binary: FoundBinary,
    /// What it may use at most, where control groups hold it to that.
    pub limits: Vec<Limit>,
    /// What a container engine holds it to.
    pub amounts: Vec<Amount>,
    /// The host that it runs on; none where that is this machine.
    pub host: Option<Arc<RemoteHost>>,
}

impl PreparedGateway {
    /// Whether it has all that a scenario needs.
    pub(crate) fn supports(&self, scenario: &Scenario) -> Result<(), Unsupported> {
        self.folder.supports(scenario, &self.binary)
    }

    /// How its limits are held, in words; none where it has none.
    pub(crate) fn limited_by(&self, limits: Limits) -> Option<&'static str> {
        if limits.is_none() {
            return None;
        }
        if !self.amounts.is_empty() {
            return Some("its container");
        }
        Some(match self.limits.first().map(|limit| limit.unified) {
            Some(true) => "cgroup v2",
            Some(false) => "cgroup v1",
            None => "cores",
        })
    }
}

/// Where the upstream listens, so that the gateway reaches it.
pub(crate) fn upstream_address(gateway: Option<&PreparedGateway>) -> IpAddr {
    let host = gateway.and_then(|gateway| gateway.host.as_ref());
    host.map_or(Ipv4Addr::LOCALHOST.into(), |host| host.here)
}

/// The folder of a name or path, with the user's configuration in place of the one it renders.
pub(crate) fn folder(
    word: &str,
    config: Option<&str>,
    catalogue: &Catalogue,
) -> Result<Folder, RunnerError> {
    let folder = catalogue.resolve(word)?;
    Ok(match config {
        Some(path) => folder.with_config(Path::new(path))?,
        None => folder,
    })
}

/// A gateway of a folder as a variant needs it; `label` is the variant's.
pub(crate) fn gateway(
    label: &str,
    folder: Folder,
    binary: FoundBinary,
    setup: &Setup,
    host: Option<Arc<RemoteHost>>,
) -> Result<(PreparedGateway, Option<Warning>), RunnerError> {
    let mut gateway = PreparedGateway {
        folder,
        binary,
        limits: Vec::new(),
        amounts: Vec::new(),
        host,
    };
    if gateway.binary.image.is_some() {
        gateway.amounts = amounts(setup.limits);
        return Ok((gateway, None));
    }
    let found = limits_of(setup.limits, gateway.host.as_deref())?;
    let (limits, warning) = limits(label, setup, found)?;
    gateway.limits = limits;
    Ok((gateway, warning))
}

/// The program of a folder that a setup asks for.
pub(crate) fn binary(
    folder: &Folder,
    setup: &Setup,
    launcher: &Launcher,
    host: Option<&RemoteHost>,
) -> Result<FoundBinary, gatebench_testbed::DriverError> {
    match host {
        None => folder.find_binary_of(setup.version.as_deref(), launcher),
        Some(host) => host.find(folder, setup),
    }
}

/// Whole CPUs can be had as cores where control groups cannot; the reader is told.
fn limits(
    label: &str,
    setup: &Setup,
    found: Result<Vec<Limit>, String>,
) -> Result<(Vec<Limit>, Option<Warning>), RunnerError> {
    let asked = setup.limits;
    match found {
        Ok(limits) => Ok((limits, None)),
        Err(why) if cores_do(setup) => {
            let warning = Warning::LimitsByCores {
                gateway: label.into(),
                limits: asked.to_string(),
                why,
                remedy: NO_GROUPS,
            };
            Ok((Vec::new(), Some(warning)))
        }
        Err(why) => Err(RunnerError::environment(
            format!("cannot limit {label} to {asked}: {why}"),
            format!("{NO_GROUPS}; whole CPUs without a memory limit need no control group"),
        )),
    }
}

/// Whether gateways can be held to a size, on this machine or on another host: by control groups, or by as many cores.
pub(crate) fn can_hold(limits: Limits, host: Option<&RemoteHost>) -> Result<bool, RunnerError> {
    let setup = Setup {
        limits,
        cores: limits.whole_cpus(),
        ..Setup::default()
    };
    if cores_do(&setup) {
        return Ok(true);
    }
    Ok(limits_of(limits, host)?.is_ok())
}

/// What holds a gateway to its limits, or why nothing does.
fn limits_of(
    limits: Limits,
    host: Option<&RemoteHost>,
) -> Result<Result<Vec<Limit>, String>, RunnerError> {
    Ok(match host {
        None => Limit::find_all(&amounts(limits), groups),
        Some(host) => host.limits(&amounts(limits))?,
    })
}

fn amounts(limits: Limits) -> Vec<Amount> {
    let cpu = limits.cpu_millis.map(Amount::CpuMillis);
    let memory = limits.memory_bytes.map(Amount::MemoryBytes);
    cpu.into_iter().chain(memory).collect()
}

/// Whether as many cores are as good as the limit.
fn cores_do(setup: &Setup) -> bool {
    let whole = setup
        .limits
        .cpu_millis
        .is_some_and(|millis| millis.is_multiple_of(MILLIS_PER_CPU));
    whole && setup.limits.memory_bytes.is_none() && setup.cores == setup.limits.whole_cpus()
}

/// The control groups that this process is in.
pub(crate) fn groups(controller: &str) -> Vec<Group> {
    let groups = control_groups(std::process::id(), controller);
    groups
        .into_iter()
        .map(|group| Group {
            unified: group.version == GroupVersion::V2,
            folder: group.folder,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_stand_in_for_whole_cpus_only() {
        let does = |cpu_millis, memory_bytes, cores| {
            cores_do(&Setup {
                limits: Limits {
                    cpu_millis,
                    memory_bytes,
                },
                cores,
                ..Setup::default()
            })
        };
        assert!(does(Some(2_000), None, Some(2)));
        assert!(!does(Some(500), None, Some(1)));
        assert!(!does(Some(1_000), None, Some(2)), "more cores than CPUs");
        assert!(!does(Some(1_000), None, None));
        assert!(!does(Some(1_000), Some(1 << 20), Some(1)));
        assert!(!does(None, Some(1 << 20), None));
    }
}
