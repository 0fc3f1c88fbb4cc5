//! Control groups, version 2 or 1: where a process's groups are, their limits, and how long a CPU
//! limit has stopped them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::system::processes::field;

/// Which of the kernel's two interfaces a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupVersion {
    /// A hierarchy for each controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// A control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// Its interface.
    pub version: GroupVersion,
    /// Its folder.
    pub folder: PathBuf,
}

/// What a CPU limit did to a group since the group was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// Periods of the limit in which the group had something to run.
    pub periods: u64,
    /// Of these, those at whose end it had to wait.
    pub throttled_periods: u64,
    /// How long it had to wait, summed over cores.
    pub throttled_ns: u64,
}

/// The groups of a process for a controller (`cpu`, `memory`), innermost first: a limit of any of
/// them holds. Groups above what is mounted here cannot be seen.
pub fn control_groups(pid: u32, controller: &str) -> Vec<ControlGroup> {
    let membership = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = in_texts(&membership, &mounts, controller);
    groups
        .into_iter()
        .filter(|group| group.folder.is_dir())
        .collect()
}

/// What the CPU limit of this group did; none where it has none, nor ever had.
pub(crate) fn throttling_of(folder: &Path) -> Option<Throttling> {
    throttling_in(&fs::read_to_string(folder.join("cpu.stat")).ok()?)
}

/// Time that a CPU limit has stopped this program's groups, in nanoseconds; the most of any of them.
pub(crate) fn throttled_ns() -> u64 {
    let groups = control_groups(std::process::id(), "cpu");
    let throttlings = groups
        .iter()
        .filter_map(|group| throttling_of(&group.folder));
    throttlings
        .map(|throttling| throttling.throttled_ns)
        .max()
        .unwrap_or(0)
}

/// The limits of a file over all groups, innermost first.
pub(crate) fn limits(controller: &str, file: &str) -> Vec<String> {
    let texts = control_groups(std::process::id(), controller)
        .into_iter()
        .filter_map(|group| fs::read_to_string(group.folder.join(file)).ok());
    texts.map(|text| text.trim().to_owned()).collect()
}

fn throttling_in(stat: &str) -> Option<Throttling> {
    let count = |name: &str| field(stat, name)?.parse::<u64>().ok();
    let microseconds = || count("throttled_usec ")?.checked_mul(1_000);
    Some(Throttling {
        periods: count("nr_periods ")?,
        throttled_periods: count("nr_throttled ")?,
        // Version 1 counts nanoseconds under another name.
        throttled_ns: microseconds().or_else(|| count("throttled_time "))?,
    })
}

fn in_texts(membership: &str, mounts: &str, controller: &str) -> Vec<ControlGroup> {
    let hierarchies: Vec<Hierarchy<'_>> = mounts.lines().filter_map(hierarchy).collect();
    let groups = membership.lines().filter_map(|line| {
        let (version, group) = member(line, controller)?;
        let found = hierarchies.iter().find(|known| match version {
            GroupVersion::V1 => known.controllers.contains(&controller),
            GroupVersion::V2 => known.version == GroupVersion::V2,
        })?;
        Some(found.with_parents(group))
    });
    groups.flatten().collect()
}

/// A line of `/proc/PID/cgroup`, `ID:CONTROLLERS:PATH`: the group, if the controller is there. Version
/// 2 has no controllers in its line.
fn member<'a>(line: &'a str, controller: &str) -> Option<(GroupVersion, &'a Path)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, Path::new(parts.next()?));
    if controllers.is_empty() {
        Some((GroupVersion::V2, group))
    } else {
        let there = controllers.split(',').any(|found| found == controller);
        there.then_some((GroupVersion::V1, group))
    }
}

/// A mounted hierarchy of groups.
struct Hierarchy<'a> {
    version: GroupVersion,
    controllers: Vec<&'a str>,
    /// The group that is mounted: the uppermost one where nothing is hidden.
    root: &'a Path,
    mount: &'a Path,
}

/// A line of `/proc/PID/mountinfo`, `ID PARENT DEVICE ROOT MOUNT OPTIONS… - TYPE SOURCE SUPER_OPTIONS`.
fn hierarchy(line: &str) -> Option<Hierarchy<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (version, options) = match kind.next()? {
        "cgroup" => (GroupVersion::V1, kind.nth(1)?),
        "cgroup2" => (GroupVersion::V2, ""),
        _ => return None,
    };
    Some(Hierarchy {
        version,
        controllers: options.split(',').collect(),
        root: Path::new(root),
        mount: Path::new(mount),
    })
}

impl Hierarchy<'_> {
    fn with_parents(&self, group: &Path) -> Vec<ControlGroup> {
        // A process outside of what is mounted is seen from its top only.
        let below = group.strip_prefix(self.root).unwrap_or(Path::new(""));
        let folders = below.ancestors().map(|group| self.mount.join(group));
        folders
            .map(|folder| ControlGroup {
                version: self.version,
                folder,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folders(membership: &str, mounts: &str) -> Vec<PathBuf> {
        let groups = in_texts(membership, mounts, "cpu");
        groups.into_iter().map(|group| group.folder).collect()
    }

    #[test]
    fn both_versions_are_found_where_they_are_mounted() {
        let unified =
            "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            folders("0::/user/a\n", unified),
            [
                "/sys/fs/cgroup/user/a",
                "/sys/fs/cgroup/user",
                "/sys/fs/cgroup/"
            ]
            .map(PathBuf::from)
        );
        let split = "31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                     32 20 0:28 / /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        assert_eq!(
            folders("4:memory:/m\n3:cpu,cpuacct:/x\n", split),
            ["/c/cpu/x", "/c/cpu/"].map(PathBuf::from)
        );
        assert!(folders("4:memory:/m\n", split).is_empty());
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_uppermost() {
        let hidden = "32 20 0:28 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cpu rw,cpu\n";
        let top = PathBuf::from("/sys/fs/cgroup/cpu/");
        assert_eq!(
            folders("1:cpu:/docker/1\n", hidden),
            std::slice::from_ref(&top)
        );
        assert_eq!(folders("1:cpu:/other\n", hidden), [top]);
    }

    #[test]
    fn throttling_is_in_nanoseconds() {
        let told = |stat| throttling_in(stat).map(|it| (it.throttled_periods, it.throttled_ns));
        let new = "nr_periods 9\nnr_throttled 2\nthrottled_usec 7\n";
        assert_eq!(told(new), Some((2, 7_000)));
        let old = "nr_periods 9\nnr_throttled 2\nthrottled_time 7000\n";
        assert_eq!(told(old), Some((2, 7_000)));
        assert_eq!(told("usage_usec 1\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(membership in ".*", mounts in ".*") {
            in_texts(&membership, &mounts, "cpu");
            throttling_in(&membership);
        }
    }
}
