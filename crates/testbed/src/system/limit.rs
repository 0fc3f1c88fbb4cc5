//! Sets resource limits of a process tree in a separate control group, which is created below a
//! group that this program may write to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use super::owner::Owner;

/// The remedy if no control group can be created.
pub const NO_GROUPS: &str = "run gatebench as root, or with `systemd-run --user --scope gatebench ...` if systemd \
     allows it; in a container, mount /sys/fs/cgroup writable";

/// The period of a CPU limit, which is also the default of the kernel, Docker and Kubernetes.
const CPU_PERIOD_US: u64 = 100_000;

/// The prefix of the groups' names, which is used to find groups that killed supervisors left
/// behind.
const NAME_PREFIX: &str = "gatebench-";

/// The file that lists the processes of a group. Writing a process ID to it moves that process into
/// the group.
const PROCS: &str = "cgroup.procs";

/// A control group, of version 1 or 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// True if the group belongs to the unified hierarchy of version 2.
    pub unified: bool,
    pub folder: PathBuf,
}

/// A resource and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// CPU time per wall time, in thousandths of a CPU.
    CpuMillis(u32),
    /// Memory. If the kernel accounts for swap, the process tree gets no additional swap.
    MemoryBytes(u64),
}

impl Amount {
    pub fn controller(self) -> &'static str {
        match self {
            Self::CpuMillis(_) => "cpu",
            Self::MemoryBytes(_) => "memory",
        }
    }

    /// Returns the files that set the limit, with their contents. The kernel may lack the second
    /// file of a memory limit.
    fn files(self, unified: bool) -> Vec<(&'static str, String)> {
        match (self, unified) {
            (Self::CpuMillis(millis), true) => {
                vec![("cpu.max", format!("{} {CPU_PERIOD_US}", quota_us(millis)))]
            }
            (Self::CpuMillis(millis), false) => vec![
                ("cpu.cfs_period_us", CPU_PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota_us(millis).to_string()),
            ],
            (Self::MemoryBytes(bytes), true) => vec![
                ("memory.max", bytes.to_string()),
                ("memory.swap.max", "0".into()),
            ],
            (Self::MemoryBytes(bytes), false) => vec![
                ("memory.limit_in_bytes", bytes.to_string()),
                ("memory.memsw.limit_in_bytes", bytes.to_string()),
            ],
        }
    }
}

fn quota_us(millis: u32) -> u64 {
    u64::from(millis) * CPU_PERIOD_US / 1_000
}

/// A limit, and the groups that are needed to set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub amount: Amount,
    /// True if the limit is set through the interface of version 2.
    pub unified: bool,
    /// The parent of the group that is limited.
    home: PathBuf,
    /// The group that the supervisor returns to after it has started the process.
    own: PathBuf,
}

/// The reason why a limit cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// gatebench cannot create a limited group below the group `folder`.
    #[error("{}: {error}", .folder.display())]
    Group { folder: PathBuf, error: io::Error },
    /// This program has no group with this controller, or none that the other limits can share.
    #[error("there is no usable control group with the {0} controller")]
    NoGroup(&'static str),
}

impl Limit {
    /// Finds groups for several limits of one process tree. In version 2, a process is in only one
    /// group, so all limits are set in the same group. `groups` returns the groups of this program
    /// for a controller, innermost first.
    ///
    /// # Errors
    /// [`LimitError::Group`] for the innermost group that was tried, or [`LimitError::NoGroup`].
    pub fn find_all(
        amounts: &[Amount],
        groups: impl Fn(&str) -> Vec<Group>,
    ) -> Result<Vec<Self>, LimitError> {
        let mut found: Vec<Self> = Vec::new();
        for amount in amounts {
            let first = found.iter().find(|limit| limit.unified);
            let usable = |group: &Group| {
                first.is_none_or(|first| !group.unified || group.folder == first.home)
            };
            found.push(Self::find(*amount, &groups(amount.controller()), usable)?);
        }
        Ok(found)
    }

    /// Finds a parent for the limited group, by creating and removing a group with the limit. In
    /// version 2, a group with processes cannot have limited groups below it, so the groups above
    /// are tried next.
    fn find(
        amount: Amount,
        groups: &[Group],
        usable: impl Fn(&Group) -> bool,
    ) -> Result<Self, LimitError> {
        let mut first = None;
        for group in groups.iter().filter(|group| usable(group)) {
            let own = groups.iter().find(|own| own.unified == group.unified);
            let limit = Self {
                amount,
                unified: group.unified,
                home: group.folder.clone(),
                own: own.unwrap_or(group).folder.clone(),
            };
            let Err(error) = limit.attempt() else {
                return Ok(limit);
            };
            let folder = limit.home;
            first.get_or_insert(LimitError::Group { folder, error });
        }
        Err(first.unwrap_or(LimitError::NoGroup(amount.controller())))
    }

    fn attempt(&self) -> io::Result<()> {
        // Moving a process requires write access to the common ancestor of its old and new groups.
        access(self.home.join(PROCS), Access::WRITE_OK)?;
        let made = self.make(&format!("{NAME_PREFIX}try-{}", std::process::id()))?;
        fs::remove_dir(made)
    }

    /// Creates a group with this name and this limit, or sets the limit in an existing group with
    /// this name.
    fn make(&self, name: &str) -> io::Result<PathBuf> {
        if self.unified {
            self.enable()?;
        }
        let folder = self.home.join(name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.set(&folder).inspect_err(|_| {
            // The group is still empty.
            let _ = fs::remove_dir(&folder);
        })?;
        Ok(folder)
    }

    /// Enables the controller for the groups below `home`, because in version 2 a controller has
    /// files only below groups that enable it.
    fn enable(&self) -> io::Result<()> {
        let file = self.home.join("cgroup.subtree_control");
        let controller = self.amount.controller();
        let enabled = fs::read_to_string(&file)?;
        if enabled.split_whitespace().any(|known| known == controller) {
            return Ok(());
        }
        fs::write(file, format!("+{controller}"))
    }

    fn set(&self, folder: &Path) -> io::Result<()> {
        for (index, (file, value)) in self.amount.files(self.unified).into_iter().enumerate() {
            match fs::write(folder.join(file), value) {
                // A kernel without swap accounting has no swap limit.
                Err(error) if index > 0 && file.contains("sw") && is_absent(&error) => {}
                result => result?,
            }
        }
        Ok(())
    }
}

/// Files of control groups cannot be created, so writing to a missing file fails with one of these
/// errors.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    )
}

fn group_name(supervisor: &Owner) -> String {
    format!("{NAME_PREFIX}{supervisor}")
}

/// Returns the folders that the supervisor with this process ID creates for its limits.
pub(crate) fn folders(limits: &[Limit], supervisor: u32) -> io::Result<Vec<PathBuf>> {
    if limits.is_empty() {
        return Ok(Vec::new());
    }
    let name = group_name(&Owner::of(supervisor)?);
    let mut folders: Vec<PathBuf> = limits.iter().map(|it| it.home.join(&name)).collect();
    folders.dedup();
    Ok(folders)
}

/// Removes the empty groups among these, and reports whether no group is left.
pub(crate) fn remove(folders: &[PathBuf]) -> bool {
    let left = |folder: &&PathBuf| fs::remove_dir(folder).is_err() && folder.exists();
    folders.iter().filter(left).count() == 0
}

/// The groups of a supervisor. Dropping this value removes the groups; all their processes must
/// have ended by then.
#[derive(Debug)]
pub(crate) struct LimitedGroups<'a> {
    limits: &'a [Limit],
    folders: Vec<PathBuf>,
}

impl<'a> LimitedGroups<'a> {
    /// Creates the groups, which are named after this process.
    pub(crate) fn make(limits: &'a [Limit]) -> io::Result<Self> {
        let groups = Self {
            limits,
            folders: folders(limits, std::process::id())?,
        };
        for limit in limits {
            remove_leftovers(&limit.home);
            let made = Owner::this().and_then(|this| limit.make(&group_name(&this)));
            made.map_err(|error| {
                let (controller, home) = (limit.amount.controller(), limit.home.display());
                io::Error::other(format!(
                    "cannot create a control group with a {controller} limit in {home}: {error}"
                ))
            })?;
        }
        Ok(groups)
    }

    /// Moves this process into the groups, runs `act`, and moves this process back. Processes that
    /// `act` starts stay in the groups.
    pub(crate) fn inside<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.folders.iter().try_for_each(|folder| move_to(folder))?;
        let done = act();
        for limit in self.limits {
            move_to(&limit.own)?;
        }
        done
    }
}

impl Drop for LimitedGroups<'_> {
    fn drop(&mut self) {
        remove(&self.folders);
    }
}

fn move_to(group: &Path) -> io::Result<()> {
    // 0 means this process.
    fs::write(group.join(PROCS), "0").map_err(|error| {
        io::Error::other(format!(
            "cannot move this process to the control group {}: {error}",
            group.display()
        ))
    })
}

/// Removes the groups of killed supervisors. A group with processes is in use and cannot be
/// removed. A group of another PID namespace is kept, because processes may be about to join it.
fn remove_leftovers(home: &Path) {
    let Ok(entries) = fs::read_dir(home) else {
        return;
    };
    let left = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(NAME_PREFIX));
        owner.and_then(Owner::parse).is_some_and(|it| it.is_gone())
    });
    for entry in left {
        let _ = fs::remove_dir(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_cpu_is_half_of_each_period() {
        let files = |amount: Amount, unified| {
            let files = amount.files(unified).into_iter();
            files
                .map(|(file, value)| format!("{file}={value}"))
                .collect::<Vec<_>>()
        };
        let (half, memory) = (Amount::CpuMillis(500), Amount::MemoryBytes(7));
        assert_eq!(files(half, true), ["cpu.max=50000 100000"]);
        let version_1 = ["cpu.cfs_period_us=100000", "cpu.cfs_quota_us=50000"];
        assert_eq!(files(half, false), version_1);
        assert_eq!(files(memory, true), ["memory.max=7", "memory.swap.max=0"]);
        assert_eq!(quota_us(16_000), 1_600_000);
    }

    /// Ordinary files replace the kernel's, to show what is written to each file in version 2.
    #[test]
    fn the_controller_is_enabled_before_its_limit_is_set() {
        let at = tempfile::tempdir().unwrap();
        let control = at.path().join("cgroup.subtree_control");
        fs::write(&control, "memory pids\n").unwrap();
        let limit = Limit {
            amount: Amount::CpuMillis(1_500),
            unified: true,
            home: at.path().into(),
            own: at.path().into(),
        };
        let own = std::process::id();
        let made = limit.make(&group_name(&Owner::of(own).unwrap())).unwrap();
        assert_eq!(fs::read_to_string(control).unwrap(), "+cpu");
        assert_eq!(
            folders(&[limit.clone(), limit], own).unwrap(),
            std::slice::from_ref(&made)
        );
        let set = fs::read_to_string(made.join("cpu.max")).unwrap();
        assert_eq!(set, "150000 100000");
    }

    /// Ordinary folders in place of the kernel's groups are removed in the same way.
    #[test]
    fn only_groups_of_a_supervisor_that_is_known_to_be_gone_are_removed() {
        let at = tempfile::tempdir().unwrap();
        let own = Owner::this().unwrap().to_string();
        let space = own.splitn(3, '-').last().unwrap();
        let kept = [own.clone(), format!("4000000-1-1{space}"), "4000000".into()];
        let name = |owner: &String| at.path().join(format!("{NAME_PREFIX}{owner}"));
        let gone = name(&format!("4000000-1-{space}"));
        for folder in kept.iter().map(name).chain([gone.clone()]) {
            fs::create_dir(folder).unwrap();
        }
        remove_leftovers(at.path());
        assert!(!gone.exists());
        for folder in kept.iter().map(name) {
            assert!(folder.exists(), "{}", folder.display());
        }
    }

    #[test]
    fn without_a_mounted_hierarchy_no_limit_can_be_set() {
        let found = Limit::find_all(&[Amount::CpuMillis(500)], |_| Vec::new());
        assert_eq!(
            found.unwrap_err().to_string(),
            "there is no usable control group with the cpu controller"
        );
        let plain = std::env::temp_dir().join("no-such-group");
        let group = Group {
            unified: true,
            folder: plain,
        };
        let found = Limit::find_all(&[Amount::MemoryBytes(1)], |_| vec![group.clone()]);
        assert!(
            found.is_err_and(|found| found.to_string().contains("no-such-group: No such file"))
        );
    }
}
