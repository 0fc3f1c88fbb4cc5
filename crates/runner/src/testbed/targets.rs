//! The processes of the upstream: several if the gateway distributes requests over targets.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use gatebench_model::load::{Ill, TargetFailure};
use gatebench_testbed::{Exit, Launcher, UpstreamProcess, UpstreamStart};
use gatebench_upstream::Snapshot;

use super::Testbed;
use super::ledger::{self, Origins};
use crate::abort::Abort;
use crate::http_probe::wire::Wire;
use crate::interrupt::Interrupt;

/// How a target is started, wherever it listens.
#[derive(Clone, Debug)]
pub(super) struct Starting {
    /// The command line but for `--listen`.
    pub(super) command: Vec<OsString>,
    pub(super) work: PathBuf,
    pub(super) cores: Vec<usize>,
    pub(super) launcher: Launcher,
    /// The address that it listens on.
    pub(super) listen: IpAddr,
}

/// One target.
#[derive(Debug)]
struct Target {
    /// Of the further upstream that it is; none of the scenario's own.
    name: Option<String>,
    starting: Starting,
    address: SocketAddr,
    /// None while it is down on purpose.
    process: Option<UpstreamProcess>,
}

/// All targets. Dropping them ends them.
#[derive(Debug, Default)]
pub(super) struct Targets {
    all: Vec<Target>,
    /// What processes saw that were ended.
    pub(super) past: Snapshot,
}

impl Starting {
    fn start(&self, listen: SocketAddr) -> Result<UpstreamProcess, Abort> {
        let mut command = self.command.clone();
        command.extend(["--listen".into(), listen.to_string().into()]);
        let start = UpstreamStart {
            command,
            work: &self.work,
            cores: &self.cores,
            launcher: &self.launcher,
        };
        Ok(start.start()?)
    }
}

impl Targets {
    /// Starts one more, on a free port: of the scenario's own upstream, or of one with a name.
    pub(super) fn add(&mut self, name: Option<String>, starting: Starting) -> Result<(), Abort> {
        let process = starting.start(SocketAddr::new(starting.listen, 0))?;
        self.all.push(Target {
            name,
            starting,
            address: process.addr,
            process: Some(process),
        });
        Ok(())
    }

    /// Where those of the scenario's own upstream listen, in their order; those too that are down.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let own = self.all.iter().filter(|target| target.name.is_none());
        own.map(|target| target.address).collect()
    }

    /// The further upstreams, by their names.
    pub(super) fn named(&self) -> Vec<(String, SocketAddr)> {
        let named = |target: &Target| Some((target.name.clone()?, target.address));
        self.all.iter().filter_map(named).collect()
    }

    /// Where those listen that are up.
    pub(super) fn up(&self) -> impl Iterator<Item = SocketAddr> {
        let up = self.all.iter().filter(|target| target.process.is_some());
        up.map(|target| target.address)
    }

    /// The process below which the upstream is, where it is one.
    pub(super) fn only_root(&self) -> Option<u32> {
        match &self.all[..] {
            [target] => target.process.as_ref().map(UpstreamProcess::supervisor_pid),
            _ => None,
        }
    }

    /// Kills the first one, of which `saw` is the ledger.
    pub(super) fn kill_first(&mut self, saw: &Snapshot) {
        if let Some(target) = self.all.first_mut() {
            self.past.add(saw);
            if let Some(mut process) = target.process.take() {
                process.kill();
            }
        }
    }

    /// Starts the first one again where it was.
    pub(super) fn start_first_again(&mut self) -> Result<(), Abort> {
        if let Some(target) = self.all.first_mut() {
            target.process = Some(target.starting.start(target.address)?);
        }
        Ok(())
    }

    /// How one ended by itself, with its last words.
    pub(super) fn death(&mut self) -> Option<(Exit, String)> {
        self.all.iter_mut().find_map(|target| {
            let process = target.process.as_mut()?;
            let exit = process.exit_status()?;
            Some((exit, process.stderr_tail()))
        })
    }
}

impl Testbed {
    /// The upstream's targets that are up, where it is ours.
    pub(crate) fn targets(&self) -> Vec<Wire> {
        let wire = |address| self.wire(address, self.upstream_has_tls);
        self.upstream.up().map(wire).collect()
    }

    /// The upstream, where it is ours.
    pub(crate) fn upstream(&self) -> Option<Origins> {
        let wires = self.targets();
        (!wires.is_empty()).then(|| Origins {
            wires,
            past: self.upstream.past.clone(),
        })
    }

    /// The ledger of the upstream, where it is ours.
    pub(crate) fn ledger(&self, interrupt: &Interrupt) -> Result<Option<Snapshot>, Abort> {
        self.upstream()
            .map(|upstream| ledger::read(&upstream, interrupt))
            .transpose()
    }

    /// Makes the first target ill. Where that ends its process, it is asked just before that what it saw.
    pub(crate) fn make_ill(
        &mut self,
        failure: &TargetFailure,
        interrupt: &Interrupt,
    ) -> Result<Option<Snapshot>, Abort> {
        let Some(first) = self.targets().into_iter().next() else {
            return Ok(None);
        };
        let by_ms = failure.by.unwrap_or_default().0.as_millis();
        match failure.how {
            Ill::Slow => ledger::make(&first, &format!("slow/{by_ms}"), interrupt)?,
            Ill::Resetting => ledger::make(&first, "resetting", interrupt)?,
            Ill::Refusing => {
                let saw = ledger::of_target(&first, interrupt)?;
                self.upstream.kill_first(&saw);
                return Ok(Some(saw));
            }
        }
        Ok(None)
    }

    /// Makes the first target well again.
    pub(crate) fn make_well(&mut self, how: Ill, interrupt: &Interrupt) -> Result<(), Abort> {
        if how == Ill::Refusing {
            return self.upstream.start_first_again();
        }
        match self.targets().first() {
            Some(first) => ledger::make(first, "well", interrupt),
            None => Ok(()),
        }
    }
}
