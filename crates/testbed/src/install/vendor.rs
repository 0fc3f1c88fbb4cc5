//! Packages from a gateway's vendor, installed by the steps that the vendor publishes for this
//! system.

use std::fs;
use std::process::Command;

use gatebench_model::gateway::{VendorPackages, VendorSystem};
use minijinja::{Environment, UndefinedBehavior, context};
use rustix::process::geteuid;

use super::{failed, run};
use crate::error::DriverError;
use crate::gateway::Folder;

const OS_RELEASE: &str = "/etc/os-release";

/// A gateway that is installed by its vendor's commands for this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorProgram {
    gateway: String,
    version: String,
    page: String,
    /// The system's name, from os-release(5).
    system: String,
    commands: Vec<String>,
}

/// An operating system, as os-release(5) describes it.
struct System {
    id: String,
    version: String,
    /// The release's code name, such as `bookworm`, if it has one.
    codename: Option<String>,
    name: String,
}

/// Returns the steps for this system; none if `gateway.yaml` names no vendor packages.
///
/// # Errors
/// [`DriverError::Install`] if the vendor's steps for this system are missing or invalid.
pub(super) fn program(folder: &Folder) -> Result<Option<VendorProgram>, DriverError> {
    let Some(packages) = &folder.spec.install.vendor else {
        return Ok(None);
    };
    let release = fs::read_to_string(OS_RELEASE).unwrap_or_default();
    program_on(&System::of(&release), &folder.spec.gateway, packages).map(Some)
}

fn program_on(
    system: &System,
    gateway: &str,
    packages: &VendorPackages,
) -> Result<VendorProgram, DriverError> {
    let fits = |it: &&VendorSystem| it.id == system.id && system.is_version(&it.versions);
    let Some(steps) = packages.systems.iter().find(fits) else {
        let message = format!("gateway.yaml has no installation steps for {}", system.name);
        return Err(failed(gateway, message, elsewhere(packages)));
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let version = &packages.version;
    let values = match &system.codename {
        Some(codename) => context! { version, codename },
        None => context! { version },
    };
    let commands = steps.commands.iter();
    let commands = commands.map(|command| environment.render_str(command, &values));
    let commands = commands.collect::<Result<_, _>>().map_err(|error| {
        let message = format!("its steps are invalid for {}: {error}", system.name);
        failed(gateway, message, elsewhere(packages))
    })?;
    Ok(VendorProgram {
        gateway: gateway.to_owned(),
        version: version.clone(),
        page: packages.page.clone(),
        system: system.name.clone(),
        commands,
    })
}

fn elsewhere(packages: &VendorPackages) -> String {
    let systems = packages.systems.iter();
    let systems = systems.map(|it| format!("{} {}", it.id, it.versions.join(", ")));
    let systems: Vec<String> = systems.collect();
    format!(
        "gateway.yaml has steps for {}; for other ways to install it, see {}",
        systems.join("; "),
        packages.page
    )
}

impl System {
    /// Parses the text of an os-release(5) file. A missing `ID` or `VERSION_ID` becomes empty, and
    /// no vendor's steps match an empty value.
    fn of(release: &str) -> Self {
        let value = |name: &str| {
            let mut lines = release.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.map(|value| value.trim().trim_matches(['"', '\'']).to_owned())
        };
        let id = value("ID").unwrap_or_default();
        let version = value("VERSION_ID").unwrap_or_default();
        let name = value("PRETTY_NAME").unwrap_or_else(|| match id.is_empty() {
            true => format!("this system, which has no {OS_RELEASE}"),
            false => format!("{id} {version}"),
        });
        Self {
            id,
            version,
            codename: value("VERSION_CODENAME"),
            name,
        }
    }

    /// Reports whether `versions` contains the system's version or the beginning of it, such as 9
    /// for 9.4.
    fn is_version(&self, versions: &[String]) -> bool {
        versions.iter().any(|it| {
            let rest = self.version.strip_prefix(it.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

impl VendorProgram {
    pub(super) fn title(&self) -> String {
        format!(
            "{} {} from its vendor, with the vendor's steps for {} ({})",
            self.gateway, self.version, self.system, self.page
        )
    }

    pub(super) fn commands(&self) -> &[String] {
        &self.commands
    }

    pub(super) fn perform(&self) -> Result<(), DriverError> {
        let by_hand = || format!("run these commands as root:\n{}", self.commands.join("\n"));
        if !geteuid().is_root() {
            let message = "only root may install its vendor's packages";
            return Err(failed(&self.gateway, message, by_hand()));
        }
        let page = format!("see {}", self.page);
        self.commands.iter().try_for_each(|command| {
            let mut shell = Command::new("sh");
            run(&self.gateway, shell.args(["-ec", command]), &page, &page)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKWORM: &str = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n\
                            VERSION_CODENAME=bookworm\n";

    fn packages() -> VendorPackages {
        let system = |id: &str, versions: &[&str], command: &str| VendorSystem {
            id: id.into(),
            versions: versions.iter().map(|&it| it.into()).collect(),
            commands: vec![command.into()],
        };
        VendorPackages {
            version: "3.9.1".into(),
            page: "https://makers.example".into(),
            systems: vec![
                system("debian", &["11", "12"], "get {{ codename }} {{ version }}"),
                system("rhel", &["9"], "get $(rpm --eval '%{rhel}') {{ version }}"),
            ],
        }
    }

    fn on(release: &str) -> Result<VendorProgram, String> {
        let program = program_on(&System::of(release), "mine", &packages());
        program.map_err(|error| error.to_string())
    }

    #[test]
    fn the_steps_are_those_for_the_system() {
        let debian = on(BOOKWORM).unwrap();
        assert_eq!(debian.commands, ["get bookworm 3.9.1"]);
        assert_eq!(
            debian.title(),
            "mine 3.9.1 from its vendor, with the vendor's steps for Debian GNU/Linux 12 (bookworm) \
             (https://makers.example)"
        );
        let rhel = on("ID='rhel'\nVERSION_ID='9.4'\n").unwrap();
        assert_eq!(rhel.commands, ["get $(rpm --eval '%{rhel}') 3.9.1"]);
    }

    #[test]
    fn no_steps_are_guessed_for_an_unlisted_system() {
        let debian_13 = BOOKWORM.replace("12", "13").replace("bookworm", "trixie");
        for (release, named) in [
            (debian_13.as_str(), "Debian GNU/Linux 13 (trixie)"),
            ("ID=debian\nVERSION_ID=120\n", "debian 120"),
            ("ID=rocky\nVERSION_ID=9.4\nID_LIKE=\"rhel\"\n", "rocky 9.4"),
            ("", "this system, which has no /etc/os-release"),
        ] {
            let error = on(release).unwrap_err();
            let expected = format!("gateway.yaml has no installation steps for {named}");
            assert!(error.contains(&expected), "{error}");
        }
        let remedy = elsewhere(&packages());
        assert_eq!(
            remedy,
            "gateway.yaml has steps for debian 11, 12; rhel 9; for other ways to install it, see https://makers.example"
        );
    }

    #[test]
    fn a_step_with_a_codename_needs_one() {
        let error = on("ID=debian\nVERSION_ID=12\n").unwrap_err();
        assert!(
            error.contains("its steps are invalid for debian 12"),
            "{error}"
        );
    }
}
