//! Finds a gateway's program, its version, digest and extras, and the mechanism that enforces the
//! gateway's limits.

mod candidates;
mod extras;
mod image;
pub(super) mod version;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gatebench_model::gateway::{Binary, Extra};
use gatebench_model::{Scenario, Setup};
use minijinja::{Environment, UndefinedBehavior, context};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use self::extras::FoundExtras;
use super::folder::Folder;
use super::input::prefix_of;
use super::limiter::Limiter;
use crate::container;
use crate::error::{DriverError, Unsupported};
use crate::process::Launcher;
use crate::system::command;
use crate::system::digest::sha256_of_file;
use crate::system::installed;

pub use self::image::FoundImage;

/// The timeout of a program that prints its version, and of each command that examines an image. A
/// runtime that has to warm up may take seconds.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// A gateway's program, found on this machine, on another host or in an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBinary {
    /// The absolute path, with symbolic links resolved; for an image, the path or name of the
    /// program in `gateway.yaml`.
    pub path: PathBuf,
    pub version: String,
    /// SHA-256 of the program's bytes or of the image's configuration, in lower-case hexadecimal.
    pub sha256: String,
    /// The extras of the gateway's folder that were found where the program is, each with the
    /// reason why it cannot be used, if there is one.
    pub extras: FoundExtras,
    /// The image that contains the program; none if the program is an ordinary file.
    pub image: Option<FoundImage>,
    /// The host that the program is on; none for this machine.
    pub host: Option<String>,
}

impl FoundBinary {
    /// Returns the reason why an extra of the folder cannot be used, with the command that installs
    /// a missing one; none if the extra can be used.
    pub fn lacks(&self, name: &str, extra: &Extra) -> Option<String> {
        match self.extras.get(name) {
            Some(why) => why.clone(),
            None => Some(format!("missing: {}", extra.install)),
        }
    }

    pub(crate) fn extra_files(&self, folder: &Folder) -> Vec<PathBuf> {
        let data = installed::data_folder().unwrap_or_default();
        let found = folder.spec.extras().into_iter();
        let found = found.filter(|(name, _)| self.extras.contains_key(*name));
        let path = |(_, extra): (_, &Extra)| of_program(&extra.path, &self.path).ok();
        found.filter_map(path).map(|path| data.join(path)).collect()
    }

    /// Describes where the program is: `PATH[ of IMAGE][ on HOST]`.
    pub fn place(&self) -> String {
        let mut place = self.path.display().to_string();
        if let Some(image) = &self.image {
            place += &format!(" of {}", image.name);
        }
        if let Some(host) = &self.host {
            place += &format!(" on {host}");
        }
        place
    }
}

impl Folder {
    /// Checks that the gateway supports everything that a scenario needs, and that the required
    /// extras are where its program is and can be used. A folder with a user's configuration always
    /// passes, because only the parity check can prove what the configuration does.
    ///
    /// # Errors
    /// [`Unsupported`] lists the features that the gateway lacks.
    pub fn supports(&self, scenario: &Scenario, binary: &FoundBinary) -> Result<(), Unsupported> {
        self.has_all(scenario, |name, extra| binary.lacks(name, extra))
    }

    /// Finds the gateway's program on this machine or, if it is missing, in the folder's image.
    ///
    /// # Errors
    /// [`DriverError::BinaryMissing`] states how to install the program. Other errors are
    /// [`DriverError::NoVersion`], [`DriverError::WrongVersion`], [`DriverError::ContainerEngine`]
    /// and, if the program cannot be read, [`DriverError::Io`].
    pub fn find_binary(&self, launcher: &Launcher) -> Result<FoundBinary, DriverError> {
        self.find_binary_of(None, launcher)
    }

    /// Like [`Folder::find_binary`]. `wanted` is an image with its tag (anything with a `:`), the
    /// path of a program or of its installation prefix (anything with a `/`), or the beginning of a
    /// version (`1.22`). If `wanted` is none, the first program is used, or the folder's image if
    /// there is no program.
    ///
    /// # Errors
    /// The errors of [`Folder::find_binary`], and [`DriverError::NoSuchVersion`] with the installed
    /// versions.
    pub fn find_binary_of(
        &self,
        wanted: Option<&str>,
        launcher: &Launcher,
    ) -> Result<FoundBinary, DriverError> {
        match (wanted, &self.spec.container) {
            (Some(image), _) if image.contains(':') => image::find(self, Some(image)),
            (None, Some(container)) => match local(self, None, launcher) {
                Err(DriverError::BinaryMissing { names, .. }) if !container::has_engine() => {
                    let remedy = "; or start Docker or Podman to run it from the image ";
                    let install = self.install_hint() + remedy + &container.image;
                    Err(missing(self, names, install))
                }
                Err(DriverError::BinaryMissing { .. }) => image::find(self, None),
                found => found,
            },
            _ => local(self, wanted, launcher),
        }
    }
}

fn local(
    folder: &Folder,
    wanted: Option<&str>,
    launcher: &Launcher,
) -> Result<FoundBinary, DriverError> {
    let binary = &folder.spec.binary;
    let found = match wanted {
        None => {
            let programs = candidates::on_path(folder, launcher);
            first(folder, programs, binary.names.clone())
        }
        Some(place) if place.contains('/') => {
            let programs = candidates::below(folder, Path::new(place));
            first(folder, programs, vec![place.to_owned()])
        }
        Some(version) => of_version(folder, version, launcher),
    };
    if let Ok((path, _)) | Err(DriverError::NoVersion { binary: path, .. }) = &found {
        let needs = binary.needs.iter();
        let files = needs.map(|file| of_program(file, path).unwrap_or_else(|_| file.clone()));
        let absent: Vec<String> = files.filter(|file| !Path::new(file).exists()).collect();
        if !absent.is_empty() {
            return Err(missing(folder, absent, folder.install_hint()));
        }
    }
    let (path, version) = found?;
    let remedy = format!(
        "{}; put it on PATH before programs of other versions, or remove those from PATH",
        folder.install_hint()
    );
    must_fit(folder, &path, &version, remedy)?;
    Ok(FoundBinary {
        version,
        sha256: sha256_of_file(&path).map_err(DriverError::at("read", &path))?,
        extras: extras::on_this_machine(folder, &path),
        path,
        image: None,
        host: None,
    })
}

fn missing(folder: &Folder, names: Vec<String>, install: String) -> DriverError {
    DriverError::BinaryMissing {
        gateway: folder.spec.gateway.clone(),
        names,
        install,
    }
}

fn no_version(folder: &Folder, binary: &Path, message: String) -> DriverError {
    DriverError::NoVersion {
        gateway: folder.spec.gateway.clone(),
        binary: binary.to_owned(),
        message,
    }
}

fn must_fit(
    folder: &Folder,
    binary: &Path,
    version: &str,
    remedy: String,
) -> Result<(), DriverError> {
    let Binary {
        version_min: min,
        version_below: below,
        ..
    } = &folder.spec.binary;
    if version::is_between(version, min, below) {
        return Ok(());
    }
    Err(DriverError::WrongVersion {
        gateway: folder.spec.gateway.clone(),
        binary: binary.to_owned(),
        version: version.to_owned(),
        wanted: version::range(min, below),
        remedy,
    })
}

/// Returns the first of the programs, with its version. If there is none, the error reports `names`
/// as missing.
fn first(
    folder: &Folder,
    programs: Vec<PathBuf>,
    names: Vec<String>,
) -> Result<(PathBuf, String), DriverError> {
    let path = programs.into_iter().next();
    let path = path.ok_or_else(|| missing(folder, names, folder.install_hint()))?;
    match version_of(&path, &folder.spec.binary) {
        Ok(version) => Ok((path, version)),
        Err(message) => Err(no_version(folder, &path, message)),
    }
}

fn of_version(
    folder: &Folder,
    wanted: &str,
    launcher: &Launcher,
) -> Result<(PathBuf, String), DriverError> {
    let mut others = Vec::new();
    let mut programs = candidates::on_path(folder, launcher);
    programs.extend(candidates::installed_versions(folder));
    for path in programs {
        match version_of(&path, &folder.spec.binary) {
            Ok(version) if version::begins_with(&version, wanted) => return Ok((path, version)),
            Ok(version) => others.push(format!("{} is {version}", path.display())),
            Err(_) => others.push(format!("{} does not print its version", path.display())),
        }
    }
    Err(DriverError::NoSuchVersion {
        gateway: folder.spec.gateway.clone(),
        wanted: wanted.to_owned(),
        others,
    })
}

fn version_of(path: &Path, binary: &Binary) -> Result<String, String> {
    let mut command = Command::new(path);
    let finished = set_environment(command.args(&binary.version_args), path, binary)
        .and_then(|()| command::run(&mut command, VERSION_TIMEOUT));
    let finished = finished.map_err(|error| error.to_string())?;
    version_in(&finished.output, binary)
}

fn set_environment(command: &mut Command, program: &Path, binary: &Binary) -> io::Result<()> {
    command.envs(environment_of(program, binary)?);
    Ok(())
}

fn environment_of(program: &Path, binary: &Binary) -> io::Result<Vec<(String, String)>> {
    let rendered = binary.environment.iter().map(|(name, value)| {
        let value = of_program(value, program).map_err(io::Error::other)?;
        Ok((name.clone(), value))
    });
    rendered.collect()
}

/// Renders a template with two variables: `binary`, the path of the program, and `prefix`.
fn of_program(template: &str, program: &Path) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let (binary, prefix) = (program.display(), prefix_of(program).display());
    let context = context! { binary => binary.to_string(), prefix => prefix.to_string() };
    environment.render_str(template, context)
}

fn version_in(printed: &str, binary: &Binary) -> Result<String, String> {
    let pattern =
        Regex::new(&binary.version_pattern).map_err(|error| format!("version_pattern: {error}"))?;
    let captures = pattern.captures(printed);
    let version = captures.and_then(|captures| captures.get(1));
    version.map(|it| it.as_str().to_owned()).ok_or_else(|| {
        format!(
            "version_pattern '{}' does not match its output: {}",
            binary.version_pattern,
            printed.trim()
        )
    })
}

/// A gateway on this machine or another host, with the mechanism that enforces its limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundGateway {
    /// The gateway's folder, with the user's configuration if there is one.
    pub folder: Folder,
    pub binary: FoundBinary,
    pub limiter: Limiter,
}

impl FoundGateway {
    pub(crate) fn find(
        folder: Folder,
        setup: &Setup,
        launcher: &Launcher,
    ) -> Result<Self, DriverError> {
        let binary = folder.find_binary_of(setup.version.as_deref(), launcher)?;
        let limiter = match &binary.image {
            Some(_) => Ok(Limiter::of_container(setup.limits)),
            None => Limiter::of_process(setup.limits, setup.cores),
        };
        let limiter = limiter.map_err(|why| DriverError::Limits {
            gateway: folder.spec.gateway.clone(),
            limits: setup.limits.to_string(),
            why: why.to_string(),
        })?;
        Ok(Self {
            folder,
            binary,
            limiter,
        })
    }

    /// See [`Folder::supports`].
    pub fn supports(&self, scenario: &Scenario) -> Result<(), Unsupported> {
        self.folder.supports(scenario, &self.binary)
    }
}
