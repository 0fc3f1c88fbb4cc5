//! Records the commit that the program is built from, for `gatebench --version` and manifests.

use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    // A source archive has no repository and therefore no commit.
    let version = match git(&["log", "-1", "--format=%h %cs", "--abbrev=12"]) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=GATEBENCH_VERSION={version}");
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Returns the output of a git command; `None` if it fails, for example because there is no git or
/// no repository, or if it prints nothing.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
