//! Reads processes from `/proc`.

use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Debug)]
pub struct Process {
    pub pid: u32,
    /// The command line, beginning with the program.
    pub command: Vec<String>,
}

impl Process {
    /// Reports whether the process may be a gateway: its first argument shows that it is neither a
    /// supervisor, nor an upstream, nor `gatebench run` or `gatebench report`.
    pub fn is_gateway(&self) -> bool {
        let second = self.command.get(1).map_or("", String::as_str);
        !matches!(second, "run" | "supervise" | "upstream" | "report")
    }

    pub fn is_upstream(&self) -> bool {
        self.command.get(1).is_some_and(|word| word == "upstream")
    }

    pub fn sockets(&self) -> usize {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.pid))
            .into_iter()
            .flatten()
            .flatten();
        descriptors
            .filter(|descriptor| {
                fs::read_link(descriptor.path())
                    .is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
            })
            .count()
    }
}

/// Returns every process that has `mark` (`NAME=VALUE`) in its environment or whose working
/// directory is within `folder`. The directory identifies processes that have overwritten their
/// environment by renaming themselves.
pub fn marked(mark: &str, folder: &Path) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A zombie has no environment and is no longer running.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes());
        let works_there =
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        if is_marked || works_there {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = command
                .split(|byte| *byte == 0)
                .map(|word| String::from_utf8_lossy(word).into_owned());
            found.push(Process {
                pid,
                command: command.collect(),
            });
        }
    }
    found
}

pub fn signal(pid: u32, signal: &str) {
    assert!(
        Command::new("kill")
            .args(["-s", signal, &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}
