//! Reads control groups, version 2 or 1: the groups of a process, their limits, and the time that a
//! CPU limit has throttled them.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::system::limit::Group;
use crate::system::processes::field;

/// The effects of a CPU limit on a group since the group was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// The number of limit periods during which the group had runnable threads.
    pub periods: u64,
    /// The number of these periods during which the limit made the group wait.
    pub throttled_periods: u64,
    /// The time that the group had to wait, summed over cores.
    pub throttled_ns: u64,
}

/// Returns the groups of a process for a controller (`cpu`, `memory`), innermost first. The limits
/// of all of them apply. Groups above the mounted ones are not visible.
pub fn control_groups(pid: u32, controller: &str) -> Vec<Group> {
    let membership = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut groups = in_texts(&membership, &mounts, controller);
    groups.retain(|group| group.folder.is_dir());
    groups
}

/// Returns the innermost visible group of a process in another container, for a controller. The
/// group is found through that container's mounts.
pub(crate) fn group_of_container(pid: u32, controller: &str) -> Option<Group> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    let groups = in_texts(&read("cgroup")?, &read("mountinfo")?, controller);
    let root = Path::new("/proc").join(pid.to_string()).join("root");
    let seen_from_here = |group: Group| {
        let below = group.folder.strip_prefix("/").ok()?;
        let folder = root.join(below);
        folder.is_dir().then_some(Group { folder, ..group })
    };
    groups.into_iter().find_map(seen_from_here)
}

/// Returns the effects of a group's CPU limit; none if the kernel keeps no such statistics for the
/// group.
pub(crate) fn throttling_of(folder: &Path) -> Option<Throttling> {
    throttling_in(&fs::read_to_string(folder.join("cpu.stat")).ok()?)
}

/// Returns the longest time that a CPU limit has throttled one of this program's groups, in
/// nanoseconds.
pub(crate) fn throttled_ns() -> u64 {
    let groups = control_groups(std::process::id(), "cpu").into_iter();
    let throttlings = groups.filter_map(|group| throttling_of(&group.folder));
    throttlings.map(|it| it.throttled_ns).max().unwrap_or(0)
}

/// Returns the contents of a limit file in all of this program's groups that have one, innermost
/// first.
pub(crate) fn limits(controller: &str, file: &str) -> Vec<String> {
    let texts = control_groups(std::process::id(), controller)
        .into_iter()
        .filter_map(|group| fs::read_to_string(group.folder.join(file)).ok());
    texts.map(|text| text.trim().to_owned()).collect()
}

/// Returns the number of CPUs that the lowest CPU limit of this program's groups allows; none if
/// there is no limit.
pub(crate) fn cpu_limit() -> Option<f64> {
    let unified = limits("cpu", "cpu.max").into_iter();
    let unified = unified.filter_map(|text| {
        let (quota, period) = text.split_once(' ')?;
        quotient(quota, period)
    });
    let quotas = limits("cpu", "cpu.cfs_quota_us").into_iter();
    let split = quotas.zip(limits("cpu", "cpu.cfs_period_us"));
    let split = split.filter_map(|(quota, period)| quotient(&quota, &period));
    unified.chain(split).min_by(f64::total_cmp)
}

/// Returns a quota divided by its period; none if the quota is unlimited (`max` or -1) or the
/// period is 0.
fn quotient(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.parse().ok()?;
    let period: u64 = period.parse().ok()?;
    (period > 0).then(|| quota as f64 / period as f64)
}

fn throttling_in(stat: &str) -> Option<Throttling> {
    let count = |name: &str| field(stat, name)?.parse::<u64>().ok();
    let microseconds = || count("throttled_usec ")?.checked_mul(1_000);
    Some(Throttling {
        periods: count("nr_periods ")?,
        throttled_periods: count("nr_throttled ")?,
        // Version 1 counts in nanoseconds, under another name.
        throttled_ns: microseconds().or_else(|| count("throttled_time "))?,
    })
}

fn in_texts(membership: &str, mounts: &str, controller: &str) -> Vec<Group> {
    let hierarchies: Vec<Hierarchy<'_>> = mounts.lines().filter_map(hierarchy).collect();
    let groups = membership.lines().filter_map(|line| {
        let (unified, group) = member(line, controller)?;
        let found = hierarchies.iter().find(|known| {
            known.unified == unified && (unified || known.controllers.contains(&controller))
        })?;
        Some(found.with_parents(group))
    });
    groups.flatten().collect()
}

/// Parses a line of `/proc/PID/cgroup`, `ID:CONTROLLERS:PATH`. Returns a flag, which is true for
/// version 2 (whose lines name no controllers), and the group; none if the line is for other
/// controllers.
fn member<'a>(line: &'a str, controller: &str) -> Option<(bool, &'a Path)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, Path::new(parts.next()?));
    if controllers.is_empty() {
        Some((true, group))
    } else {
        let there = controllers.split(',').any(|found| found == controller);
        there.then_some((false, group))
    }
}

struct Hierarchy<'a> {
    unified: bool,
    controllers: Vec<&'a str>,
    /// The group at the mount point: the root group, unless the groups above it are hidden.
    root: &'a Path,
    mount: &'a Path,
}

/// Parses a line of `/proc/PID/mountinfo`, `ID PARENT DEVICE ROOT MOUNT OPTIONS… - TYPE SOURCE
/// SUPER_OPTIONS`.
fn hierarchy(line: &str) -> Option<Hierarchy<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (unified, options) = match kind.next()? {
        "cgroup" => (false, kind.nth(1)?),
        "cgroup2" => (true, ""),
        _ => return None,
    };
    Some(Hierarchy {
        unified,
        controllers: options.split(',').collect(),
        root: Path::new(root),
        mount: Path::new(mount),
    })
}

impl Hierarchy<'_> {
    fn with_parents(&self, group: &Path) -> Vec<Group> {
        // For a process outside the mounted group, only the mounted group is visible.
        let below = group.strip_prefix(self.root).unwrap_or(Path::new(""));
        let groups = below.ancestors().map(|group| Group {
            unified: self.unified,
            folder: self.mount.join(group),
        });
        groups.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    fn folders(membership: &str, mounts: &str) -> Vec<PathBuf> {
        let groups = in_texts(membership, mounts, "cpu");
        groups.into_iter().map(|group| group.folder).collect()
    }

    #[test]
    fn both_versions_are_found_at_their_mounts() {
        let unified =
            "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let below = ["user/a", "user", ""].map(|it| Path::new("/sys/fs/cgroup").join(it));
        assert_eq!(folders("0::/user/a\n", unified), below);
        let split = "31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                     32 20 0:28 / /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        assert_eq!(
            folders("4:memory:/m\n3:cpu,cpuacct:/x\n", split),
            ["/c/cpu/x", "/c/cpu/"].map(PathBuf::from)
        );
        assert!(folders("4:memory:/m\n", split).is_empty());
    }

    #[test]
    fn the_group_of_a_container_is_the_uppermost() {
        let hidden = "32 20 0:28 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cpu rw,cpu\n";
        let top = PathBuf::from("/sys/fs/cgroup/cpu/");
        assert_eq!(
            folders("1:cpu:/docker/1\n", hidden),
            std::slice::from_ref(&top)
        );
        assert_eq!(folders("1:cpu:/other\n", hidden), [top]);
    }

    #[test]
    fn a_cpu_limit_is_a_quota_per_period() {
        assert_eq!(quotient("50000", "100000"), Some(0.5));
        for (quota, period) in [("max", "100000"), ("-1", "100000"), ("1", "0")] {
            assert_eq!(quotient(quota, period), None);
        }
    }

    #[test]
    fn throttling_is_in_nanoseconds() {
        let figures = |stat| throttling_in(stat).map(|it| (it.throttled_periods, it.throttled_ns));
        let new = "nr_periods 9\nnr_throttled 2\nthrottled_usec 7\n";
        assert_eq!(figures(new), Some((2, 7_000)));
        let old = "nr_periods 9\nnr_throttled 2\nthrottled_time 7000\n";
        assert_eq!(figures(old), Some((2, 7_000)));
        assert_eq!(figures("usage_usec 1\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(membership in ".*", mounts in ".*") {
            in_texts(&membership, &mounts, "cpu");
            throttling_in(&membership);
        }
    }
}
