//! The hosts of a run: from an inventory or from Terraform, which may also create and destroy them.

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_model::{Elsewhere, Host, Hosts, Place, Places};
use gatebench_testbed::terraform::{Purpose, Terraform};

use crate::failure::Failure;
use crate::terminal;

/// The prefix in `--hosts` that marks a folder with a Terraform configuration.
const TERRAFORM: &str = "terraform:";

/// The options for hosts from an inventory or from Terraform.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// Run on the hosts that this source lists: an inventory, saved output of `terraform output
    /// -json`, or the outputs of a Terraform or OpenTofu folder (docs/guide/KUBERNETES.md)
    #[arg(long, value_name = "terraform:DIR|FILE", conflicts_with_all = ["gateway_on", "agents", "upstream_on", "attach", "kubernetes"])]
    pub hosts: Option<String>,
    /// Create the hosts before the run with `init` and `apply`, after showing the plan and asking
    /// for confirmation
    #[arg(long, requires = "hosts")]
    provision: bool,
    /// Destroy the hosts after the run, after showing the plan and asking for confirmation
    #[arg(long, requires = "hosts")]
    destroy: bool,
    /// Carry out --provision and --destroy without asking for confirmation
    #[arg(long, requires = "hosts")]
    yes: bool,
}

impl HostsArgs {
    /// Creates the hosts if `--provision` is given, and reads them. With `is_dry`, nothing is
    /// created.
    ///
    /// # Errors
    /// Fails if the source cannot be read or names no hosts, if the options do not fit the source,
    /// if the user declines, or if Terraform fails.
    pub fn read(&self, is_dry: bool) -> Result<Option<Hosts>, Failure> {
        let Some(word) = &self.hosts else {
            return Ok(None);
        };
        let (text, folder) = match self.terraform()? {
            Some((terraform, folder)) => {
                self.check_questions()?;
                if self.provision && !is_dry {
                    terraform.init()?;
                    self.change(&terraform, Purpose::Create)?;
                }
                (terraform.outputs()?, folder)
            }
            None if self.provision || self.destroy => {
                return Err(Failure::words(
                    word,
                    "only the hosts of a Terraform folder can be created and destroyed",
                    "write --hosts terraform:DIR, or omit --provision and --destroy",
                ));
            }
            None => {
                let folder = Path::new(word).parent().unwrap_or(Path::new("")).to_owned();
                let text = fs::read_to_string(word);
                let text = text.map_err(|error| {
                    let what = format!("cannot be read: {error}");
                    Failure::words(word, what, "name a readable file, or terraform:DIR")
                })?;
                (text, folder)
            }
        };
        let hosts = Hosts::read(&text, &folder);
        hosts
            .map(Some)
            .map_err(|error| Failure::words(word, error.to_string(), error.remedy()))
    }

    /// Destroys the hosts if `--destroy` is given.
    ///
    /// # Errors
    /// Fails if the user declines, or if Terraform fails.
    pub fn destroy(&self) -> Result<(), Failure> {
        match self.terraform()?.filter(|_| self.destroy) {
            Some((terraform, _)) => self.change(&terraform, Purpose::Destroy),
            None => Ok(()),
        }
    }

    fn terraform(&self) -> Result<Option<(Terraform, PathBuf)>, Failure> {
        let folder = self
            .hosts
            .as_ref()
            .and_then(|word| word.strip_prefix(TERRAFORM));
        let Some(folder) = folder.map(PathBuf::from) else {
            return Ok(None);
        };
        Ok(Some((Terraform::find(&folder)?, folder)))
    }

    /// Returns an error if a question would have to be asked, but standard input is not a terminal.
    fn check_questions(&self) -> Result<(), Failure> {
        let asks = (self.provision || self.destroy) && !self.yes;
        if !asks || io::stdin().is_terminal() {
            return Ok(());
        }
        Err(Failure::words(
            "--provision, --destroy",
            "cannot ask for confirmation, because standard input is not a terminal",
            "add --yes to carry out the plan without confirmation",
        ))
    }

    /// Shows a plan, asks for confirmation unless `--yes` is given, and carries the plan out.
    fn change(&self, terraform: &Terraform, purpose: Purpose) -> Result<(), Failure> {
        let Some(plan) = terraform.plan(purpose)? else {
            return Ok(());
        };
        let verb = match purpose {
            Purpose::Create => "create",
            Purpose::Destroy => "destroy",
        };
        if !self.yes && !agrees(&format!("{verb} these resources?"))? {
            let by_hand = terraform.shown();
            return Err(Failure::environment(
                format!("you declined to {verb} the hosts"),
                format!("run the command again, or use Terraform itself: {by_hand}"),
            ));
        }
        Ok(terraform.apply(&plan)?)
    }
}

/// Returns the gateways' host, and the address that it uses to reach an upstream on this machine.
pub fn elsewhere(hosts: &Hosts) -> Elsewhere {
    Elsewhere {
        upstream_address: address_here(hosts),
        ..Elsewhere::new(Place::Ssh(hosts.gateway.clone()))
    }
}

/// Returns the places of the load generators and the upstream. A list is empty if all its places
/// would be this machine.
pub fn places(hosts: &Hosts) -> Places {
    let place = |host: &Host| match is_here(host) {
        true => Place::Here,
        false => Place::Ssh(host.clone()),
    };
    let mut agents = Vec::from_iter(hosts.load.iter().map(place));
    if agents.iter().all(|it| *it == Place::Here) {
        agents.clear();
    }
    let upstream = hosts.upstream.iter().map(place);
    Places {
        upstream: upstream.filter(|it| *it != Place::Here).collect(),
        address: address_here(hosts).filter(|_| !agents.is_empty()),
        agents,
        ..Places::default()
    }
}

/// Returns the upstream's address if the upstream runs on this machine.
fn address_here(hosts: &Hosts) -> Option<IpAddr> {
    let upstream = hosts.upstream.as_ref().filter(|it| is_here(it));
    upstream.and_then(|it| it.address)
}

/// Reports whether a host is this machine, which is the case if this machine can listen on the
/// host's address.
fn is_here(host: &Host) -> bool {
    let address = host.address;
    address.is_some_and(|address| TcpListener::bind((address, 0)).is_ok())
}

fn agrees(question: &str) -> Result<bool, Failure> {
    terminal::complain(&format!("{question} Type yes to continue:"));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| {
        let what = format!("cannot read from standard input: {error}");
        Failure::environment(what, "add --yes to skip the confirmation")
    })?;
    Ok(line.trim() == "yes")
}
