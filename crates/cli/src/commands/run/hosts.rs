//! The hosts of a run: from an inventory or from Terraform, which may also create and destroy them.

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_model::{Elsewhere, Host, Hosts, Place};
use gatebench_testbed::terraform::{Purpose, Terraform};

use crate::failure::Failure;
use crate::terminal;

/// The prefix of a folder with a Terraform configuration.
const TERRAFORM: &str = "terraform:";

/// Hosts that are not named one by one.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// Run on these hosts: an inventory, saved output of `terraform output -json`, or the outputs
    /// of a Terraform or OpenTofu folder (docs/guide/KUBERNETES.md)
    #[arg(long, value_name = "terraform:DIR|FILE", conflicts_with_all = ["gateway_on", "attach", "kubernetes"])]
    pub hosts: Option<String>,
    /// Create the hosts before the run with `init` and `apply`, after showing the plan and asking
    #[arg(long, requires = "hosts")]
    provision: bool,
    /// Destroy the hosts after the run, after showing the plan and asking
    #[arg(long, requires = "hosts")]
    destroy: bool,
    /// Do not ask before --provision and --destroy
    #[arg(long, requires = "hosts")]
    yes: bool,
}

impl HostsArgs {
    /// Creates the hosts if that is wanted, and reads them. With `is_dry`, nothing is created.
    ///
    /// # Errors
    /// The user declined, Terraform failed, or there are no hosts in its outputs.
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
                    "only a Terraform folder can be created and destroyed",
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

    /// Destroys the hosts if that is wanted.
    ///
    /// # Errors
    /// The user declined, or Terraform failed.
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

    /// Refuses to start what would need a question that nobody can respond to.
    fn check_questions(&self) -> Result<(), Failure> {
        let asks = (self.provision || self.destroy) && !self.yes;
        if !asks || io::stdin().is_terminal() {
            return Ok(());
        }
        Err(Failure::words(
            "--provision, --destroy",
            "nobody can be asked, because standard input is not a terminal",
            "add --yes if the plan may be carried out without a question",
        ))
    }

    /// Shows a plan, asks and carries it out.
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

/// The host of the gateways. The upstream and the load generator run on this machine, so it must be
/// the one that the hosts name for them.
///
/// # Errors
/// It is not.
pub fn elsewhere(hosts: &Hosts) -> Result<Elsewhere, Failure> {
    let others = hosts.upstream.iter().chain(&hosts.load);
    let is_here = |host: &&Host| {
        let address = host.address;
        address.is_none_or(|address| TcpListener::bind((address, 0)).is_ok())
    };
    if let Some(far) = others.clone().find(|host| !is_here(host)) {
        let ssh = &far.ssh;
        return Err(Failure::words(
            "--hosts",
            format!("the upstream and the load are for {ssh}, which is not this machine"),
            format!("run gatebench on {ssh}, or omit `upstream` and `load`"),
        ));
    }
    let Host {
        ssh,
        address,
        identity,
    } = hosts.gateway.clone();
    Ok(Elsewhere {
        host: Place::Ssh(ssh),
        identity,
        address,
        upstream_address: hosts.upstream.as_ref().and_then(|it| it.address),
    })
}

/// Asks a question on the terminal.
fn agrees(question: &str) -> Result<bool, Failure> {
    terminal::complain(&format!("{question} Type yes to go on:"));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::environment(format!("cannot read: {error}"), "use --yes"))?;
    Ok(line.trim() == "yes")
}
