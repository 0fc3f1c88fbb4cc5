//! The program of a gateway: where it is, which version, which bytes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gatebench_model::gateway::Binary;
use regex_lite::Regex;
use sha2::{Digest as _, Sha256};

use crate::command;
use crate::error::DriverError;
use crate::folder::Folder;
use crate::installed;
use crate::launch::Launcher;
use crate::version;

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
pub(crate) fn find(folder: &Folder, launcher: &Launcher) -> Result<FoundBinary, DriverError> {
    let (gateway, binary) = (&folder.spec.gateway, &folder.spec.binary);
    let missing = |names: Vec<String>| DriverError::BinaryMissing {
        gateway: gateway.clone(),
        names,
        install: installed::hint(folder),
    };
    let path = locate(&binary.names, launcher).ok_or_else(|| missing(binary.names.clone()))?;
    let absent: Vec<String> = binary
        .needs
        .iter()
        .filter(|file| !Path::new(file).exists())
        .cloned()
        .collect();
    if !absent.is_empty() {
        return Err(missing(absent));
    }
    let version = ask_version(&path, binary).map_err(|message| DriverError::NoVersion {
        gateway: gateway.clone(),
        binary: path.clone(),
        message,
    })?;
    if !version::is_between(&version, &binary.version_min, &binary.version_below) {
        return Err(DriverError::WrongVersion {
            gateway: gateway.clone(),
            binary: path,
            version,
            wanted: version::range(&binary.version_min, &binary.version_below),
            install: installed::hint(folder),
        });
    }
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
        .chain(installed::bin_folder())
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
