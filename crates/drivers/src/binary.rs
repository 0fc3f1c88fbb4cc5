//! The program of a gateway: where it is, which version, which bytes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gatebench_model::gateway::{Binary, Install};
use regex_lite::Regex;
use sha2::{Digest as _, Sha256};

use crate::command;
use crate::error::DriverError;
use crate::launch::Launcher;

/// A runtime that has to warm up may take seconds to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Where programs lie that a user's PATH often lacks: Debian puts daemons there.
const EXTRA_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// The name that stands for gatebench itself.
const OWN_NAME: &str = "gatebench";

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundBinary {
    /// Absolute, with links followed.
    pub path: PathBuf,
    /// What it says about itself.
    pub version: String,
    /// SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
}

/// Finds the program of a gateway and asks its version.
pub(crate) fn find(
    gateway: &str,
    binary: &Binary,
    install: &Install,
    launcher: &Launcher,
) -> Result<FoundBinary, DriverError> {
    let path = locate(&binary.names, launcher).ok_or_else(|| DriverError::BinaryMissing {
        gateway: gateway.into(),
        names: binary.names.clone(),
        install: install_hint(gateway, install),
    })?;
    let version = ask_version(&path, binary).map_err(|message| DriverError::NoVersion {
        gateway: gateway.into(),
        binary: path.clone(),
        message,
    })?;
    let sha256 =
        sha256_of_file(&path).map_err(DriverError::io(format!("reading {}", path.display())))?;
    Ok(FoundBinary {
        path,
        version,
        sha256,
    })
}

/// SHA-256 of some bytes, in lower-case hexadecimal.
pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut hasher))?;
    Ok(hex(&hasher.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn locate(names: &[String], launcher: &Launcher) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(EXTRA_FOLDERS.iter().map(PathBuf::from))
        .collect();
    let candidates = names.iter().flat_map(|name| match name.as_str() {
        OWN_NAME => vec![launcher.program.clone()],
        name if name.contains('/') => vec![PathBuf::from(name)],
        name => folders.iter().map(|folder| folder.join(name)).collect(),
    });
    candidates
        .filter(|candidate| is_executable(candidate))
        .find_map(|candidate| candidate.canonicalize().ok())
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn ask_version(path: &Path, binary: &Binary) -> Result<String, String> {
    let pattern =
        Regex::new(&binary.version_pattern).map_err(|error| format!("version_pattern: {error}"))?;
    let finished = command::run(
        Command::new(path).args(&binary.version_args),
        VERSION_TIMEOUT,
    )
    .map_err(|error| error.to_string())?;
    let version = pattern
        .captures(&finished.output)
        .and_then(|captures| captures.get(1));
    version
        .map(|version| version.as_str().to_owned())
        .ok_or_else(|| {
            format!(
                "'{}' is not in what it printed: {}",
                binary.version_pattern,
                finished.output.trim()
            )
        })
}

fn install_hint(gateway: &str, install: &Install) -> String {
    let apt =
        (!install.apt.is_empty()).then(|| format!("apt-get install {}", install.apt.join(" ")));
    let ways: Vec<String> = apt.into_iter().chain(install.other.clone()).collect();
    if ways.is_empty() {
        format!("install {gateway} and put it on PATH")
    } else {
        format!("install it: {}", ways.join("; or "))
    }
}
