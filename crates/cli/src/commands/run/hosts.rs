//! The hosts of a run: from an inventory or from Terraform, which may also create and destroy them.

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::net::{IpAddr, TcpListener};
use std::path::Path;

use clap::Args;
use gatebench_model::{Elsewhere, Host, Hosts, Place, Places};
use gatebench_testbed::terraform::{Purpose, SavedPlan, Terraform};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

const TERRAFORM: &str = "terraform:";

/// The options for hosts from an inventory or from Terraform.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// Run on the hosts that this source lists: an inventory, saved output of `terraform output
    /// -json`, or the outputs of a Terraform or OpenTofu folder (docs/guide/KUBERNETES.md)
    #[arg(long, value_name = "terraform:DIR|FILE", conflicts_with_all = ["gateway_on", "agents", "upstream_on", "attach", "kubernetes"])]
    pub hosts: Option<String>,
    /// Before the run, create the hosts with `init` and `apply`, after showing the plan and asking
    /// for confirmation
    #[arg(long, requires = "hosts")]
    provision: bool,
    /// After the run, destroy the hosts, after showing the plan and asking for confirmation
    #[arg(long, requires = "hosts")]
    destroy: bool,
    /// Carry out --provision and --destroy without asking for confirmation
    #[arg(long, requires = "hosts")]
    yes: bool,
}

const INTERRUPTED: &str = "interrupted: the hosts are destroyed as soon as the current step has ended (without --yes, only after confirmation)";

impl HostsArgs {
    /// Reads the hosts and passes them to `measure`. With `--provision`, creates them first. With
    /// `--destroy`, destroys them afterwards, even if creating them, reading them or `measure`
    /// failed, or a signal arrived. With `is_dry`, nothing is created or destroyed.
    ///
    /// # Errors
    /// Fails if the source cannot be read or names no hosts, if the options do not fit the source,
    /// if the user declines, or if Terraform or `measure` fails. If the hosts cannot be destroyed
    /// either, that failure is printed.
    pub fn with(
        &self,
        is_dry: bool,
        measure: impl FnOnce(Option<&Hosts>) -> Result<Exit, Failure>,
    ) -> Result<Exit, Failure> {
        let Some(word) = &self.hosts else {
            return measure(None);
        };
        let Some(folder) = word.strip_prefix(TERRAFORM).map(Path::new) else {
            return measure(Some(&self.of_file(word)?));
        };
        let terraform = Terraform::find(folder)?;
        if !is_dry {
            self.check_questions()?;
        }
        let plan = match self.provision && !is_dry {
            true => {
                terraform.init()?;
                self.agreed(&terraform, Purpose::Create)?
            }
            false => None,
        };
        // From here on, there may be hosts that cost money, so neither a failure nor a signal may
        // skip their destruction. A failed `apply` may have created some of them.
        let destroys = self.destroy && !is_dry;
        if destroys {
            let by_hand = format!("{} destroy", terraform.shown());
            signals::hold(
                || terminal::complain(INTERRUPTED),
                move || {
                    terminal::complain(&format!(
                        "interrupted again; destroy the hosts yourself: {by_hand}"
                    ));
                },
            )?;
        }
        let exit = created(&terraform, plan).and_then(|()| {
            let outputs = terraform.outputs();
            uninterrupted()?;
            measure(Some(&parsed(word, &outputs?, folder)?))
        });
        let destroyed = match destroys {
            true => self.destroyed(&terraform),
            false => Ok(()),
        };
        if let (Err(_), Err(failure)) = (&exit, &destroyed) {
            failure.print();
        }
        let exit = exit?;
        destroyed.map(|()| exit)
    }

    fn of_file(&self, word: &str) -> Result<Hosts, Failure> {
        if self.provision || self.destroy {
            return Err(Failure::words(
                word,
                "only the hosts of a Terraform folder can be created and destroyed",
                "write --hosts terraform:DIR, or omit --provision and --destroy",
            ));
        }
        let text = fs::read_to_string(word).map_err(|error| {
            let what = format!("cannot be read: {error}");
            Failure::words(word, what, "name a readable file, or terraform:DIR")
        })?;
        let folder = Path::new(word).parent().unwrap_or(Path::new(""));
        parsed(word, &text, folder)
    }

    fn destroyed(&self, terraform: &Terraform) -> Result<(), Failure> {
        match self.agreed(terraform, Purpose::Destroy)? {
            Some(plan) => Ok(terraform.apply(&plan)?),
            None => Ok(()),
        }
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

    /// Shows a plan, and asks for confirmation unless `--yes` is given. Returns `None` if there is
    /// nothing to change.
    fn agreed(
        &self,
        terraform: &Terraform,
        purpose: Purpose,
    ) -> Result<Option<SavedPlan>, Failure> {
        let Some(plan) = terraform.plan(purpose)? else {
            return Ok(None);
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
        Ok(Some(plan))
    }
}

/// Carries out the plan. If a signal has arrived, returns the interruption as the error even if
/// Terraform failed, because Ctrl-C also ends Terraform.
fn created(terraform: &Terraform, plan: Option<SavedPlan>) -> Result<(), Failure> {
    let applied = plan.map_or(Ok(()), |plan| terraform.apply(&plan));
    uninterrupted()?;
    Ok(applied?)
}

fn uninterrupted() -> Result<(), Failure> {
    if !signals::is_held() {
        return Ok(());
    }
    Err(Failure::said(
        Exit::Interrupted,
        "--hosts",
        "interrupted before the run",
        "run the command again",
    ))
}

/// Parses the hosts in the text of a source. Paths in the text are relative to `folder`.
fn parsed(word: &str, text: &str, folder: &Path) -> Result<Hosts, Failure> {
    let hosts = Hosts::read(text, folder);
    hosts.map_err(|error| Failure::words(word, error.to_string(), error.remedy()))
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
