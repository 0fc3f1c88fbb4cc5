//! Where the programs are that the benchmarks run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of the project under measurement, and the folder of those it is compared with.
pub struct Programs {
    pub gatebench: PathBuf,
    /// The client that parses nothing.
    pub bare: PathBuf,
    /// The work that a handicap of the reference gateway adds, alone.
    pub handicap: PathBuf,
    /// Where `make peers` installs what Debian does not have.
    peers: PathBuf,
}

impl Programs {
    /// Builds what is the project's own in release mode.
    pub fn build(root: &Path) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        for package in [
            &["-p", "gatebench"][..],
            &["-p", "gatebench-net", "--example", "bare"],
            &["-p", "gatebench-gateway", "--example", "handicap"],
        ] {
            let status = Command::new(&cargo)
                .args(["build", "--release", "--quiet"])
                .args(package)
                .current_dir(root)
                .status()
                .map_err(|error| format!("cargo cannot be started: {error}"))?;
            if !status.success() {
                return Err("the release build failed".into());
            }
        }
        Ok(Self::built(root))
    }

    /// Where the build leaves them.
    fn built(root: &Path) -> Self {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let release = target.join("release");
        Self {
            gatebench: release.join("gatebench"),
            bare: release.join("examples/bare"),
            handicap: release.join("examples/handicap"),
            peers: root.join("target/peers/bin"),
        }
    }

    /// A program by name, from the peers' folder or PATH; an error that says how to install it.
    pub fn find(&self, name: &str) -> Result<String, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.peers.clone()).chain(std::env::split_paths(&path));
        let mut files = folders.map(|folder| folder.join(name));
        let found = files.find(|file| file.is_file());
        found.map_or_else(
            || Err(format!("{name} is not installed: make peers")),
            |file| Ok(file.display().to_string()),
        )
    }

    /// The first of some options that a command of gatebench does not have; an error where there is no
    /// such command.
    pub fn gatebench_lacks<'a>(
        &self,
        command: &str,
        mut options: impl Iterator<Item = &'a String>,
    ) -> Result<Option<&'a str>, String> {
        let output = Command::new(&self.gatebench)
            .args([command, "--help"])
            .output()
            .map_err(|error| format!("{} cannot be started: {error}", self.gatebench.display()))?;
        if !output.status.success() {
            return Err(format!("there is no `gatebench {command}`"));
        }
        let help = String::from_utf8_lossy(&output.stdout);
        Ok(options
            .find(|option| !names(&help, option))
            .map(String::as_str))
    }
}

/// Whether a page of help names an option, and not only one that begins like it.
fn names(help: &str, option: &str) -> bool {
    let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.into_iter().any(|word| word == option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_whole_word() {
        let help = "  -k, --insecure\n      --tls <1.2|1.3>\n";
        assert!(names(help, "--tls") && names(help, "--insecure") && !names(help, "--in"));
    }
}
