//! Where the programs are that the benchmarks run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of the project under measurement, and the folder of those it is compared with.
pub struct Programs {
    pub gatebench: PathBuf,
    /// The engine's example, a process of its own around one load.
    pub client: PathBuf,
    /// The client that parses nothing.
    pub bare: PathBuf,
    /// Where `make peers` installs what Debian does not have.
    peers: PathBuf,
}

impl Programs {
    /// Builds what is the project's own in release mode.
    pub fn build(root: &Path) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        for package in [
            &["-p", "gatebench"][..],
            &["-p", "gatebench-engine", "--example", "client"],
            &["-p", "gatebench-net", "--example", "bare"],
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
            client: release.join("examples/client"),
            bare: release.join("examples/bare"),
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

    /// Whether a page of help of gatebench names an option.
    pub fn gatebench_offers(&self, command: &[&str], option: &str) -> bool {
        let help = Command::new(&self.gatebench)
            .args(command)
            .arg("--help")
            .output();
        help.is_ok_and(|output| {
            output.status.success() && String::from_utf8_lossy(&output.stdout).contains(option)
        })
    }
}
