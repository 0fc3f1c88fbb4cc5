//! Finds the sockets and pipes that processes hold open.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use super::{Inode, numbers_in};

pub(crate) fn sockets_of(pids: &[u32]) -> BTreeSet<Inode> {
    let targets = pids.iter().flat_map(|pid| held_open(*pid));
    targets.filter_map(|target| socket(&target)).collect()
}

/// Returns the targets of the descriptors of a process; empty if they are not readable.
fn held_open(pid: u32) -> impl Iterator<Item = PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter();
    let descriptors = descriptors.flatten().flatten();
    descriptors.filter_map(|entry| fs::read_link(entry.path()).ok())
}

fn socket(target: &Path) -> Option<Inode> {
    let text = target.to_str()?.strip_prefix("socket:[")?;
    text.strip_suffix(']')?.parse().ok()
}

/// Returns the processes that hold an end of a pipe open. Processes that run this program are left
/// out: this process, and forked children, which hold its descriptors until they call exec.
pub(crate) fn holders_of_pipe(pipe: impl AsFd) -> Vec<u32> {
    let (Ok(status), Ok(own)) = (fstat(pipe), fs::read_link("/proc/self/exe")) else {
        return Vec::new();
    };
    let target = PathBuf::from(format!("pipe:[{}]", status.st_ino));
    let holds_it = |pid: &u32| {
        held_open(*pid).any(|link| link == target)
            && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program != own)
    };
    numbers_in("/proc").into_iter().filter(holds_it).collect()
}
