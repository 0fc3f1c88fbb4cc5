//! Installs gateways from package registries or by their vendors' steps, and builds commits of a
//! user's repository.
//!
//! apt-get installs Debian packages, pip installs Python packages that contain programs, and Maven
//! builds Java programs. `gateway.yaml` pins the versions of gateways, except those from Debian
//! packages, whose versions depend on the Debian release. PyPI packages and the libraries in
//! `install.maven.libraries` are also pinned by SHA-256. A vendor's packages are installed by the
//! steps that the vendor publishes, if the user agrees.

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
use crate::system::installed::{bin_folder, data_folder, path_folders};

const APT_SCRIPT: &str = include_str!("apt.sh");

/// A step in the installation of one or more gateways.
#[derive(Clone, Debug, PartialEq)]
pub enum InstallStep {
    /// The Debian packages of all gateways together.
    Debian(Vec<String>),
    Python(PythonProgram),
    Java(JavaProgram),
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
    /// The path and the text of each of the project's files.
    files: Vec<(String, String)>,
    home: Home,
}

/// The folder that one version of a gateway is installed into, and the folder for links to
/// programs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Home {
    gateway: String,
    /// The name of the link to the gateway's program in `bin`.
    name: String,
    folder: PathBuf,
    bin: PathBuf,
}

/// Returns the steps that install these gateways. Debian packages come first, because later steps
/// may need them.
///
/// # Errors
/// [`DriverError::Install`] if a gateway can only be installed in another way, which the remedy
/// describes; if its vendor has no valid steps for this system; or if neither HOME nor
/// XDG_DATA_HOME is set.
pub fn install_steps(folders: &[Folder]) -> Result<Vec<InstallStep>, DriverError> {
    let mut packages: Vec<String> = Vec::new();
    let mut programs = Vec::new();
    for folder in folders {
        let install = &folder.spec.install;
        if !folder.can_be_installed() && install.vendor.is_none() {
            return Err(failed(
                &folder.spec.gateway,
                "it is in no package registry that gatebench uses",
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

/// Checks that a gateway from its vendor's packages has the version that `gateway.yaml` names.
///
/// # Errors
/// [`DriverError::Install`] if it has another version.
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
    pub fn title(&self) -> String {
        match self {
            Self::Debian(packages) => format!("Debian packages {}", packages.join(", ")),
            Self::Python(program) => program.title(),
            Self::Java(program) => program.title(),
            Self::Vendor(program) => program.title(),
        }
    }

    /// Returns the step's commands, quoted for a shell.
    pub fn commands(&self) -> Vec<String> {
        match self {
            Self::Debian(packages) => vec!["apt-get update".into(), apt_install(packages)],
            Self::Python(program) => program.commands(),
            Self::Java(program) => program.commands(),
            Self::Vendor(program) => program.commands().to_vec(),
        }
    }

    pub fn needs_root(&self) -> bool {
        matches!(self, Self::Debian(_) | Self::Vendor(_))
    }

    /// Reports whether the step adds a package source to the system, which requires the user's
    /// consent.
    pub fn needs_consent(&self) -> bool {
        matches!(self, Self::Vendor(_))
    }

    /// If an installer fails, the error contains the last lines of its output.
    pub fn perform(&self) -> Result<(), DriverError> {
        match self {
            Self::Debian(packages) => install_debian(packages),
            Self::Python(program) => program.perform(),
            Self::Java(program) => program.perform(),
            Self::Vendor(program) => program.perform(),
        }
    }
}

fn apt_install(packages: &[String]) -> String {
    let fixed = ["apt-get", "install", "--yes", "--no-install-recommends"].map(String::from);
    display(&[&fixed, packages].concat())
}

fn install_debian(packages: &[String]) -> Result<(), DriverError> {
    let what = "the Debian packages";
    let by_hand = format!("sudo sh -c 'apt-get update && {}'", apt_install(packages));
    let mut folders = path_folders().into_iter();
    if !folders.any(|folder| folder.join("apt-get").is_file()) {
        let missing = packages.join(", ");
        return Err(failed(
            what,
            format!("there is no apt-get on this machine to install {missing}"),
            "install them with this system's package manager, so that their programs are on PATH or in /usr/sbin",
        ));
    }
    if !geteuid().is_root() {
        return Err(failed(what, "only root may install them", by_hand));
    }
    let mut script = Command::new("sh");
    script.args(["-c", APT_SCRIPT, "apt.sh"]).args(packages);
    let remedy = format!("fix the cause, then try again, or run: {by_hand}");
    run(what, &mut script, &remedy, &remedy)
}

/// Runs an installer to completion, in the foreground, so that Ctrl-C reaches it. Its output is
/// shown only if it fails. `if_absent` is the remedy if the installer cannot be started, and
/// `if_failing` if it fails.
fn run(
    what: &str,
    installer: &mut Command,
    if_absent: &str,
    if_failing: &str,
) -> Result<(), DriverError> {
    let program = installer.get_program().to_string_lossy().into_owned();
    let finished = installer.stdin(Stdio::null()).output();
    let finished =
        finished.map_err(|error| failed(what, format!("{program}: {error}"), if_absent))?;
    if finished.status.success() {
        return Ok(());
    }
    let output = [finished.stdout, finished.stderr].concat();
    let output = last_lines(&String::from_utf8_lossy(&output));
    let message = format!("{program} failed ({})\n{output}", finished.status);
    Err(failed(what, message, if_failing))
}

fn failed(what: &str, message: impl Into<String>, remedy: impl Into<String>) -> DriverError {
    DriverError::Install {
        gateway: what.into(),
        message: message.into(),
        remedy: remedy.into(),
    }
}

impl Home {
    fn of(folder: &Folder, version: &str) -> Result<Self, DriverError> {
        let gateway = &folder.spec.gateway;
        let (Some(data), Some(bin)) = (data_folder(), bin_folder()) else {
            let message = "there is no folder for it: neither HOME nor XDG_DATA_HOME is set";
            return Err(failed(gateway, message, "set HOME"));
        };
        let names = &folder.spec.binary.names;
        let plain = names.iter().find(|name| !name.contains('/'));
        Ok(Self {
            gateway: gateway.clone(),
            name: plain.unwrap_or(gateway).clone(),
            folder: data.join("gateways").join(format!("{gateway}-{version}")),
            bin,
        })
    }

    /// Removes an earlier installation of this version, even an interrupted one, and creates the
    /// folder.
    fn clear(&self) -> Result<(), DriverError> {
        unless_missing(fs::remove_dir_all(&self.folder))
            .and_then(|()| fs::create_dir_all(&self.folder))
            .map_err(DriverError::at("create", &self.folder))
    }

    /// Links a program, so that gatebench finds it. This must be the last step of an installation,
    /// because gatebench must not find an incomplete program.
    fn link(&self, program: &Path) -> Result<(), DriverError> {
        let link = self.bin.join(&self.name);
        let new = self.bin.join(format!(".{}.new", self.name));
        fs::create_dir_all(&self.bin)
            .and_then(|()| unless_missing(fs::remove_file(&new)))
            .and_then(|()| symlink(program, &new))
            .and_then(|()| fs::rename(&new, &link))
            .map_err(DriverError::at("create the link", &link))
    }
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}
