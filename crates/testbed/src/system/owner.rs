//! Identifies the process that created a container or a control group, so that a later process can
//! check whether the creator has ended.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::processes;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const PID_NAMESPACE: &str = "/proc/self/ns/pid";

/// A unique identifier of a process. The process ID and the start time alone are not unique. PID
/// namespaces, each of which numbers its processes from 1, may share a container engine. Containers
/// may survive a reboot, after which the ticks start again from 0.
///
/// The text form is `PID-TICKS-NAMESPACE-BOOT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    started_ticks: u64,
    /// The scope of the owner's process ID: the inode of its PID namespace, and the ID of the boot.
    space: String,
}

impl Owner {
    pub(crate) fn this() -> io::Result<Self> {
        Self::of(std::process::id())
    }

    /// Returns the identifier of a process of this PID namespace, even of a zombie.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let started_ticks = processes::started_ticks(pid)
            .ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat contains no start time")))?;
        Ok(Self {
            pid,
            started_ticks,
            space: space()?,
        })
    }

    /// Parses the text form; none if the text has another form, such as another program's label.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        Some(Self {
            pid: parts.next()?.parse().ok()?,
            started_ticks: parts.next()?.parse().ok()?,
            space: parts.next()?.to_owned(),
        })
    }

    /// Returns the process ID in the PID namespace of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Reports whether the process is known to have ended. Nothing is known about processes of
    /// another boot or PID namespace.
    pub(crate) fn is_gone(&self) -> bool {
        if !space().is_ok_and(|here| here == self.space) {
            return false;
        }
        match processes::started(self.pid) {
            Some(ticks) => ticks != self.started_ticks,
            None => !is_hidden(self.pid),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pid, ticks, space) = (self.pid, self.started_ticks, &self.space);
        write!(f, "{pid}-{ticks}-{space}")
    }
}

fn space() -> io::Result<String> {
    let named = |path: &'static str| {
        move |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"))
    };
    let boot = fs::read_to_string(BOOT_ID).map_err(named(BOOT_ID))?;
    let namespace = fs::metadata(PID_NAMESPACE).map_err(named(PID_NAMESPACE))?;
    Ok(format!("{}-{}", namespace.ino(), boot.trim()))
}

/// Reports whether a process of another user exists, even if this user may not see it because
/// `/proc` is mounted with `hidepid`.
fn is_hidden(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_gone_after_its_end_and_not_before() {
        let own = Owner::this().unwrap();
        assert_eq!(Owner::parse(&own.to_string()), Some(own.clone()));
        assert!(!own.is_gone());
        let later = Owner {
            started_ticks: own.started_ticks + 1,
            ..own.clone()
        };
        assert!(later.is_gone(), "its ID now belongs to another process");
        let mut child = Command::new("true").spawn().unwrap();
        let owner = Owner::of(child.id()).unwrap();
        child.wait().unwrap();
        assert!(owner.is_gone());
    }

    #[test]
    fn nothing_is_known_about_another_boot_or_namespace() {
        let own = Owner::this().unwrap();
        let (namespace, boot) = own.space.split_once('-').unwrap();
        for space in [
            format!("{}-{boot}", namespace.parse::<u64>().unwrap() + 1),
            format!("{namespace}-00000000-0000-0000-0000-000000000000"),
            String::new(),
        ] {
            let owner = Owner {
                pid: 4_000_000,
                started_ticks: 1,
                space,
            };
            assert!(!owner.is_gone(), "{owner}");
        }
    }

    #[test]
    fn other_texts_name_no_owner() {
        for text in ["", "7:8", "7", "7-8", "a-8-9", "7--9", "-1-8-9"] {
            assert_eq!(Owner::parse(text), None, "{text}");
        }
    }
}
