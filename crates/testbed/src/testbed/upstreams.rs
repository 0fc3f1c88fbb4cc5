//! The upstreams of a trial, the Redis server that keeps rate-limit counters, and the PostgreSQL
//! server that keeps the gateway's configuration.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use gatebench_model::{Scenario, UpstreamKind};
use gatebench_net::tls::{Identity, Pem};

use super::parts::TrialParts;
use super::{certificate, death};
use crate::error::DriverError;
use crate::gateway::{CERTIFICATE_FILE, KEY_FILE};
use crate::process::{Launcher, Supervised};
use crate::remote::{Ordered, RemoteHost, RemoteService};
use crate::services::{Service, UpstreamStart, start_postgres, start_redis};
use crate::wire::Wire;

/// A target of the scenario's own upstream, or a further upstream.
#[derive(Debug)]
struct Target {
    /// The name of the further upstream; `None` for the scenario's own.
    name: Option<String>,
    start: Start,
    address: SocketAddr,
    /// `None` while the target is deliberately down.
    process: Option<Process>,
}

/// The place of a target, with the inputs for starting it there.
#[derive(Debug)]
enum Start {
    Here(UpstreamStart),
    There(Arc<RemoteHost>, Ordered),
}

#[derive(Debug)]
enum Process {
    Here(Box<Supervised>),
    There(RemoteService),
}

impl Start {
    /// Starts the target at `address`; port 0 chooses a free port. On a remote host, only the port
    /// of `address` is used, because the target listens on the host's own IP address.
    fn start(&self, address: SocketAddr) -> Result<(Process, SocketAddr), DriverError> {
        match self {
            Self::Here(start) => {
                let Service { process, addr } = start.start(address)?;
                Ok((Process::Here(Box::new(process)), addr))
            }
            Self::There(host, order) => {
                let service = RemoteService::start(host, order, address.port())?;
                let address = service.address;
                Ok((Process::There(service), address))
            }
        }
    }
}

impl Process {
    fn death(&mut self) -> Option<DriverError> {
        match self {
            Self::Here(process) => {
                let exit = process.exit_status()?;
                Some(death::of_upstream(exit, &process.stderr_tail()))
            }
            Self::There(service) => match service.death() {
                Ok(None) => None,
                Ok(Some((exit, stderr))) => Some(death::of_upstream(exit, &stderr)),
                Err(error) => Some(error),
            },
        }
    }
}

/// The running upstreams and servers. Dropping this value ends them. Their exit status does not
/// matter, because they have no data to save.
#[derive(Debug, Default)]
pub(super) struct Upstreams {
    all: Vec<Target>,
    redis: Option<(Process, SocketAddr)>,
    postgres: Option<Service>,
    certificate: Option<Pem>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    /// The hosts of the upstreams, used in turn; empty for this machine.
    pub(super) upstreams: Vec<Arc<RemoteHost>>,
    /// The host of Redis; `None` for this machine.
    pub(super) redis: Option<Arc<RemoteHost>>,
}

struct Starting<'a> {
    trial: &'a TrialParts<'a>,
    hosts: &'a Hosts,
    /// The IP address that upstreams and Redis on this machine listen on.
    listen: IpAddr,
    /// The certificate and its key, if the upstreams use TLS.
    identity: Option<&'a Identity>,
    launcher: &'a Launcher,
}

impl Starting<'_> {
    /// Starts a target. If there are several hosts, `number` selects the host.
    fn start(
        &self,
        number: usize,
        name: Option<&str>,
        kind: UpstreamKind,
        folder: &str,
    ) -> Result<Target, DriverError> {
        let streams = self.trial.streams;
        let start = match &self.hosts.upstreams[..] {
            [] => {
                let work = self.trial.folder.join(folder);
                self.identity
                    .map_or(Ok(()), |identity| certificate::put(identity, &work))?;
                let cores = &self.trial.placement.upstream;
                let start = UpstreamStart::of(kind, work, cores, self.launcher);
                Start::Here(
                    start
                        .with_streams(streams)
                        .with_tls(self.identity.is_some()),
                )
            }
            hosts => {
                let host = Arc::clone(&hosts[number % hosts.len()]);
                let files = self.identity.map(files).unwrap_or_default();
                let order = Ordered::Upstream {
                    kind,
                    streams,
                    files,
                };
                Start::There(host, order)
            }
        };
        let (process, address) = start.start(SocketAddr::new(self.listen, 0))?;
        Ok(Target {
            name: name.map(str::to_owned),
            start,
            address,
            process: Some(process),
        })
    }

    fn start_redis(&self, work: &Path) -> Result<(Process, SocketAddr), DriverError> {
        match &self.hosts.redis {
            None => {
                let cores = &self.trial.placement.upstream;
                let Service { process, addr } =
                    start_redis(self.listen, work, cores, self.launcher)?;
                Ok((Process::Here(Box::new(process)), addr))
            }
            Some(host) => {
                let service = RemoteService::start(host, &Ordered::Redis, 0)?;
                let address = service.address;
                Ok((Process::There(service), address))
            }
        }
    }
}

fn files(identity: &Identity) -> Vec<(std::path::PathBuf, String)> {
    let text = |pem: &Pem| String::from_utf8_lossy(&pem.bytes).into_owned();
    vec![
        (CERTIFICATE_FILE.into(), text(&identity.chain)),
        (KEY_FILE.into(), text(&identity.key)),
    ]
}

impl Upstreams {
    /// Starts the targets of the scenario's own upstream. If there is a gateway, also starts the
    /// further upstreams and, if they are needed, Redis and PostgreSQL. Without a gateway there is
    /// a single target, which uses TLS if clients of the gateway would.
    pub(super) fn start(
        trial: &TrialParts<'_>,
        hosts: &Hosts,
        listen: IpAddr,
        identity: Option<&Identity>,
        launcher: &Launcher,
    ) -> Result<Self, DriverError> {
        let (scenario, is_direct) = (trial.scenario, trial.gateway.is_none());
        let (has_tls, targets) = match is_direct {
            true => (scenario.transport.tls, 1),
            false => (scenario.transport.upstream_tls, scenario.targets),
        };
        let identity = identity.filter(|_| has_tls);
        let starting = Starting {
            trial,
            hosts,
            listen,
            identity,
            launcher,
        };
        let mut upstreams = Self {
            certificate: identity.map(|it| it.chain.clone()),
            ..Self::default()
        };
        let all = &mut upstreams.all;
        all.push(starting.start(0, None, scenario.upstream, "upstream")?);
        for number in 2..=targets {
            let folder = format!("upstream-{number}");
            all.push(starting.start(all.len(), None, scenario.upstream, &folder)?);
        }
        if is_direct {
            return Ok(upstreams);
        }
        for (name, kind) in &scenario.more_upstreams {
            let folder = format!("upstream-{name}");
            all.push(starting.start(all.len(), Some(name), *kind, &folder)?);
        }
        if scenario.needs_redis() {
            upstreams.redis = Some(starting.start_redis(&trial.folder.join("redis"))?);
        }
        let gateway = trial.gateway.map(|it| &it.folder.spec);
        if gateway.is_some_and(|it| it.needs_postgres(scenario)) {
            let work = trial.folder.join("postgres");
            upstreams.postgres = Some(start_postgres(&work, &trial.placement.upstream, launcher)?);
        }
        Ok(upstreams)
    }

    pub(super) fn with_redis(&self, scenario: &Scenario) -> Scenario {
        let scenario = scenario.clone();
        match &self.redis {
            Some((_, address)) => scenario.with_redis(*address),
            None => scenario,
        }
    }

    /// Returns the addresses of the targets of the scenario's own upstream, in order, including
    /// targets that are down.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let own = self.all.iter().filter(|target| target.name.is_none());
        own.map(|target| target.address).collect()
    }

    pub(super) fn named(&self) -> Vec<(String, SocketAddr)> {
        let named = |target: &Target| Some((target.name.clone()?, target.address));
        self.all.iter().filter_map(named).collect()
    }

    /// Returns the targets that are not deliberately down.
    pub(super) fn up(&self) -> Vec<Wire> {
        let up = self.all.iter().filter(|target| target.process.is_some());
        up.map(|target| Wire::new(target.address, self.certificate.clone()))
            .collect()
    }

    /// Returns the process ID of the upstream's supervisor, if there is only one target and it runs
    /// on this machine.
    pub(super) fn only_root(&self) -> Option<u32> {
        match &self.all[..] {
            [target] => match target.process.as_ref()? {
                Process::Here(process) => Some(process.supervisor_pid()),
                Process::There(_) => None,
            },
            _ => None,
        }
    }

    pub(super) fn kill_first(&mut self) {
        let first = self.all.first_mut();
        match first.and_then(|target| target.process.take()) {
            Some(Process::Here(mut process)) => process.kill(),
            // Dropping the service ends the process.
            Some(Process::There(_)) | None => {}
        }
    }

    pub(super) fn start_first_again(&mut self) -> Result<(), DriverError> {
        if let Some(target) = self.all.first_mut() {
            target.process = Some(target.start.start(target.address)?.0);
        }
        Ok(())
    }

    /// Returns the error for a target that has died, or for a lost connection to a target's host.
    pub(super) fn death(&mut self) -> Option<DriverError> {
        let mut running = self.all.iter_mut().filter_map(|it| it.process.as_mut());
        running.find_map(Process::death)
    }

    pub(super) fn database(&self) -> Option<SocketAddr> {
        self.postgres.as_ref().map(|it| it.addr)
    }

    /// Returns the name of a server, Redis or PostgreSQL, that was started and has ended. Also
    /// returns `Redis` if the connection to its host is lost.
    pub(super) fn ended_server(&mut self) -> Option<&'static str> {
        let redis = self
            .redis
            .as_mut()
            .is_some_and(|(process, _)| match process {
                Process::Here(process) => !process.is_alive(),
                Process::There(service) => !matches!(service.death(), Ok(None)),
            });
        let postgres = self.postgres.as_mut();
        match postgres.is_some_and(|it| !it.process.is_alive()) {
            _ if redis => Some("Redis"),
            true => Some("PostgreSQL"),
            false => None,
        }
    }
}
