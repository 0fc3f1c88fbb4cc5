//! Processes and their descendants, as `/proc` lists them.

use std::fs;

use crate::proc::threads;

/// The direct children of a process; none where it is gone.
pub fn children(pid: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for thread in threads(pid) {
        let list =
            fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
        children.extend(
            list.split_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
    }
    children
}

/// A process and everything that descends from it, the process itself first.
pub fn tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children(pid));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::{Command, Stdio};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn children_of_every_thread_are_found() {
        let start = || {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).spawn().unwrap()
        };
        // The thread stays: the children of one that ends move to another.
        let (give, take) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            give.send(start()).unwrap();
            let _ = ended.recv();
        });
        let mut started = [start(), take.recv().unwrap()];
        let (own, all) = (children(std::process::id()), tree(std::process::id()));
        assert_eq!(all[0], std::process::id());
        for child in &mut started {
            assert!(own.contains(&child.id()) && all.contains(&child.id()));
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(!children(std::process::id()).contains(&child.id()));
        }
        assert!(children(4_000_000).is_empty());
        drop(end);
        other.join().unwrap();
    }
}
