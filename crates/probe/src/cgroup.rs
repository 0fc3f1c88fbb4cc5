//! The control groups this program is in, version 2 or 1: their CPU throttling and limits.

use std::fs;
use std::path::{Path, PathBuf};

use crate::proc::field;

/// Where cgroups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The folders of this program's group for a controller and of the groups above it, innermost
/// first: a limit of any of them holds.
pub(crate) fn folders(controller: &str) -> Vec<PathBuf> {
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = membership
        .lines()
        .filter_map(|line| mounted(line, controller));
    groups
        .flat_map(|(mount, group)| with_parents(&mount, &group))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// Time that a CPU limit has stopped this program's groups, in nanoseconds; the most of any of them.
pub(crate) fn throttled_ns() -> u64 {
    let stats = folders("cpu")
        .into_iter()
        .filter_map(|folder| fs::read_to_string(folder.join("cpu.stat")).ok());
    stats
        .filter_map(|stat| throttled_in(&stat))
        .max()
        .unwrap_or(0)
}

/// The limits of a file over all groups, innermost first.
pub(crate) fn limits(controller: &str, file: &str) -> Vec<String> {
    let texts = folders(controller)
        .into_iter()
        .filter_map(|folder| fs::read_to_string(folder.join(file)).ok());
    texts.map(|text| text.trim().to_owned()).collect()
}

fn throttled_in(stat: &str) -> Option<u64> {
    let microseconds = || {
        field(stat, "throttled_usec ")?
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000)
    };
    // Version 1 counts nanoseconds under another name.
    microseconds().or_else(|| field(stat, "throttled_time ")?.parse().ok())
}

/// A line of `/proc/self/cgroup`, `ID:CONTROLLERS:PATH`: where the group's hierarchy is mounted, and
/// the group in it, if the controller is there. Version 2 has no controllers in its line.
fn mounted(line: &str, controller: &str) -> Option<(PathBuf, PathBuf)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    let mount = if controllers.is_empty() {
        PathBuf::from(MOUNT)
    } else if controllers.split(',').any(|found| found == controller) {
        Path::new(MOUNT).join(controllers)
    } else {
        return None;
    };
    Some((mount, PathBuf::from(group.trim_start_matches('/'))))
}

fn with_parents(mount: &Path, group: &Path) -> Vec<PathBuf> {
    group.ancestors().map(|group| mount.join(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_in_their_places() {
        let at = |line| mounted(line, "cpu");
        assert_eq!(at("0::/user/a"), Some((MOUNT.into(), "user/a".into())));
        assert_eq!(
            at("3:cpu,cpuacct:/x"),
            Some((Path::new(MOUNT).join("cpu,cpuacct"), "x".into()))
        );
        assert_eq!(at("4:cpuset:/x"), None);
        assert_eq!(
            with_parents(Path::new("/m"), Path::new("a/b")),
            ["/m/a/b", "/m/a", "/m/"].map(PathBuf::from)
        );
    }

    #[test]
    fn throttling_is_in_nanoseconds() {
        assert_eq!(
            throttled_in("nr_throttled 2\nthrottled_usec 7\n"),
            Some(7_000)
        );
        assert_eq!(
            throttled_in("nr_throttled 2\nthrottled_time 7000\n"),
            Some(7_000)
        );
        assert_eq!(throttled_in("usage_usec 1\n"), None);
    }
}
