//! The programs that the benchmarks run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The measured programs of the project, and the folder of the external ones.
pub struct Programs {
    pub gatebench: PathBuf,
    /// The client that parses nothing.
    pub bare: PathBuf,
    /// The reference gateway with deliberate faults.
    pub faulty: PathBuf,
    /// The folder in which `make external` installs programs that Debian does not have.
    external: PathBuf,
}

impl Programs {
    /// Builds the project's programs with link-time optimization.
    pub fn build(root: &Path) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        for package in [
            &["-p", "gatebench"][..],
            &["-p", "gatebench-net", "--example", "bare"],
            &["-p", "gatebench-faulty"],
        ] {
            let status = Command::new(&cargo)
                .args(["build", "--profile", "dist", "--quiet"])
                .args(package)
                .current_dir(root)
                .status()
                .map_err(|error| format!("cargo cannot be started: {error}"))?;
            if !status.success() {
                return Err("the build failed".into());
            }
        }
        Ok(Self::built(root))
    }

    fn built(root: &Path) -> Self {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let dist = target.join("dist");
        Self {
            gatebench: dist.join("gatebench"),
            bare: dist.join("examples/bare"),
            faulty: dist.join("gatebench-faulty"),
            external: root.join("target/external/bin"),
        }
    }

    /// Finds a program in the folder of `make external` or on PATH; the error states how to install
    /// it.
    pub fn find(&self, name: &str) -> Result<String, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.external.clone()).chain(std::env::split_paths(&path));
        let mut files = folders.map(|folder| folder.join(name));
        let found = files.find(|file| file.is_file());
        found.map_or_else(
            || {
                Err(format!(
                    "{name} is not installed; install it with `make external`"
                ))
            },
            |file| Ok(file.display().to_string()),
        )
    }
}
