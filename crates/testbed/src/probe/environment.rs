//! Reads the machine's properties, which the manifest of a run records.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

use super::accounting::Accounting;
use super::cgroup;
use super::frequency::FrequencySource;
use super::topology::{cpu_list, topology};
use crate::system::processes::{field, kibibytes};

const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The file that each engine creates in its containers, and the engine's name.
const MARKS: [(&str, &str); 2] = [("/run/.containerenv", "Podman"), ("/.dockerenv", "Docker")];

/// Kernel settings that can affect the results of a benchmark, as paths below `/proc/sys`.
const SYSCTLS: [&str; 10] = [
    "kernel/io_uring_disabled",
    "kernel/sched_autogroup_enabled",
    "net/core/somaxconn",
    "net/core/netdev_max_backlog",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_tw_reuse",
    "vm/overcommit_memory",
];

/// The names of the boot options that can affect timing, without `=` and a value.
const BOOT_OPTIONS: [&str; 11] = [
    "amd_pstate",
    "idle",
    "intel_idle.max_cstate",
    "intel_pstate",
    "isolcpus",
    "mitigations",
    "nohz_full",
    "nosmt",
    "processor.max_cstate",
    "rcu_nocbs",
    "tsc",
];

/// The properties of the machine. A property that cannot be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentFacts {
    pub cpu: CpuFacts,
    pub memory: MemoryFacts,
    pub kernel: KernelFacts,
    pub limits: LimitFacts,
    /// Kernel settings by name, such as `net.core.somaxconn`.
    pub sysctls: BTreeMap<String, String>,
    /// The source of the cores' frequencies; earlier versions of gatebench did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<FrequencySource>,
}

/// The processors of the machine, and the kernel's settings for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuFacts {
    pub model: Option<String>,
    pub architecture: String,
    /// Logical processors that are online, for example `0-3`.
    pub online: Option<String>,
    /// Logical processors that this process may use, for example `0-1`.
    pub allowed: Option<String>,
    /// NUMA nodes that are online, for example `0`.
    pub numa_nodes: Option<String>,
    /// Frequency governor of each core that has one; distinct values are joined.
    pub governor: Option<String>,
    /// Lowest and highest frequencies, in kHz, that the governor may choose for each core with such
    /// limits; distinct values are joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_limits: Option<String>,
    /// The CPUs of each core that this process may use, by package, NUMA node and speed: for
    /// example `package 0, node 0: 0+4 1+5` for two cores with two CPUs each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topology: Vec<String>,
    /// The state of simultaneous multithreading: `on`, `off`, `notsupported`, …
    pub smt: Option<String>,
    /// The vendor or type of the hypervisor, if the CPU's flags show that the machine is a guest.
    pub hypervisor: Option<String>,
    /// The kernel's setting for frequencies above the base frequency: for example `boost=1` or
    /// `no_turbo=0`.
    pub boost: Option<String>,
}

/// The memory of the machine, and the kernel's setting for huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    pub total_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    pub transparent_huge_pages: Option<String>,
}

/// The kernel, its clock source and its boot options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// Release, as `uname -r` prints it.
    pub release: Option<String>,
    /// Build, as `uname -v` prints it.
    pub version: Option<String>,
    /// The distribution's `PRETTY_NAME` in `/etc/os-release`.
    pub distribution: Option<String>,
    pub clock_source: Option<String>,
    /// The accounting of softirq and stolen time; earlier versions of gatebench did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// Boot options that can affect timing. Others are omitted, because they may be private.
    pub boot_options: Vec<String>,
}

/// Limits of this process and of its control groups, innermost group first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitFacts {
    /// Soft limit on open file descriptors; absent if there is no limit.
    pub nofile_soft: Option<u64>,
    /// Hard limit on open file descriptors; absent if there is no limit.
    pub nofile_hard: Option<u64>,
    /// Soft limit on locked memory, in bytes. Old kernels charge io_uring's rings to it.
    pub memlock_soft_bytes: Option<u64>,
    /// CPU limits: `cpu.max` of version 2, or `cpu.cfs_quota_us` of version 1.
    pub cgroup_cpu: Vec<String>,
    /// Memory limits: `memory.max` or `memory.limit_in_bytes`.
    pub cgroup_memory: Vec<String>,
}

impl EnvironmentFacts {
    /// Reads the properties of the machine, except those that take time: the source of frequencies,
    /// and the accounting if the kernel's configuration cannot be read.
    pub fn read() -> Self {
        Self {
            cpu: cpu(),
            memory: memory(),
            kernel: kernel(),
            limits: limits(),
            sysctls: sysctls(),
            frequency: None,
        }
    }
}

fn cpu() -> CpuFacts {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed_list = field(&status, "Cpus_allowed_list:");
    let allowed = allowed_list.map(cpu_list).unwrap_or_default();
    let boost = [
        "/sys/devices/system/cpu/cpufreq/boost",
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
    ];
    CpuFacts {
        model: field(&cpuinfo, "model name")
            .map(|model| model.trim_start_matches([':', ' ']).to_owned()),
        architecture: env::consts::ARCH.into(),
        online: line_of("/sys/devices/system/cpu/online"),
        allowed: allowed_list.map(str::to_owned),
        numa_nodes: line_of("/sys/devices/system/node/online"),
        governor: of_cores(|core| line_of(core.join("cpufreq/scaling_governor").to_str()?)),
        frequency_limits: of_cores(|core| {
            let limit = |name: &str| line_of(core.join("cpufreq").join(name).to_str()?);
            Some(format!(
                "{}-{}",
                limit("scaling_min_freq")?,
                limit("scaling_max_freq")?
            ))
        }),
        topology: topology(&allowed).in_words(),
        smt: line_of("/sys/devices/system/cpu/smt/control"),
        hypervisor: hypervisor(&cpuinfo),
        boost: boost
            .iter()
            .find_map(|path| Some(format!("{}={}", path.rsplit('/').next()?, line_of(path)?))),
    }
}

/// Returns the distinct values of the cores, joined by commas; none if no core has a value.
fn of_cores(value: impl Fn(&Path) -> Option<String>) -> Option<String> {
    let cores = fs::read_dir("/sys/devices/system/cpu").ok()?.flatten();
    let found = cores.filter_map(|core| value(&core.path()));
    let found: std::collections::BTreeSet<String> = found.collect();
    (!found.is_empty()).then(|| found.into_iter().collect::<Vec<_>>().join(", "))
}

fn hypervisor(cpuinfo: &str) -> Option<String> {
    let guest = field(cpuinfo, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let vendor =
        line_of("/sys/class/dmi/id/sys_vendor").or_else(|| line_of("/sys/hypervisor/type"));
    guest.then(|| vendor.unwrap_or_else(|| "of unknown kind".into()))
}

fn memory() -> MemoryFacts {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    MemoryFacts {
        total_bytes: kibibytes(&meminfo, "MemTotal:"),
        swap_bytes: kibibytes(&meminfo, "SwapTotal:"),
        transparent_huge_pages: line_of("/sys/kernel/mm/transparent_hugepage/enabled"),
    }
}

fn kernel() -> KernelFacts {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    KernelFacts {
        release: line_of("/proc/sys/kernel/osrelease"),
        version: line_of("/proc/sys/kernel/version"),
        distribution: field(&release, "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned()),
        clock_source: clock_source(),
        accounting: Some(Accounting::configured()),
        boot_options: boot_options(&line_of("/proc/cmdline").unwrap_or_default()),
    }
}

fn boot_options(command_line: &str) -> Vec<String> {
    let known = |option: &&str| BOOT_OPTIONS.contains(&option.split('=').next().unwrap_or(option));
    command_line
        .split_whitespace()
        .filter(known)
        .map(str::to_owned)
        .collect()
}

fn limits() -> LimitFacts {
    let nofile = getrlimit(Resource::Nofile);
    let either = |controller, v2, v1| {
        [
            cgroup::limits(controller, v2),
            cgroup::limits(controller, v1),
        ]
        .concat()
    };
    LimitFacts {
        nofile_soft: nofile.current,
        nofile_hard: nofile.maximum,
        memlock_soft_bytes: getrlimit(Resource::Memlock).current,
        cgroup_cpu: either("cpu", "cpu.max", "cpu.cfs_quota_us"),
        cgroup_memory: either("memory", "memory.max", "memory.limit_in_bytes"),
    }
}

fn sysctls() -> BTreeMap<String, String> {
    let read = |name: &&str| {
        Some((
            name.replace('/', "."),
            line_of(&format!("/proc/sys/{name}"))?,
        ))
    };
    SYSCTLS.iter().filter_map(read).collect()
}

/// Returns the text of a one-line file; none if the file is missing or empty.
fn line_of(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim().replace('\t', " ");
    (!text.is_empty()).then_some(text)
}

/// Returns the clock source that the kernel currently uses, such as `tsc`; none if the kernel does
/// not name it. The kernel switches to another source if it finds this one unstable.
pub fn clock_source() -> Option<String> {
    clock_source_below(Path::new("/"))
}

/// Like [`clock_source`], for the machine whose `/sys` is below `root`.
pub fn clock_source_below(root: &Path) -> Option<String> {
    let name = fs::read_to_string(root.join(CLOCK_SOURCE)).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Identifies this process's `CLOCK_MONOTONIC` by the kernel's boot ID and the offsets of the time
/// namespace (time_namespaces(7)). Processes with the same identity read the same clock.
pub fn clock_identity() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    // The file exists only in kernels with time namespaces.
    let offsets = read("/proc/self/timens_offsets");
    let boot = read("/proc/sys/kernel/random/boot_id");
    let words = boot.split_whitespace().chain(offsets.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns `Kubernetes` in a pod, and otherwise the engine of the container that this program runs
/// in; none outside a container, or if the container has no marker file.
pub fn enclosing_container() -> Option<&'static str> {
    if env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("Kubernetes");
    }
    let found = MARKS.iter().find(|(mark, _)| Path::new(mark).exists());
    found.map(|(_, engine)| *engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_boot_options_that_change_timing_are_kept() {
        assert_eq!(
            boot_options("quiet isolcpus=1-3 token=secret nosmt idler=1"),
            ["isolcpus=1-3", "nosmt"]
        );
    }
}
