//! The upstreams of a trial, the Redis server that keeps its rate-limit counters, and the
//! PostgreSQL server that keeps the gateway's configuration.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};

use gatebench_model::{Scenario, UpstreamKind};
use gatebench_net::tls::{Identity, Pem};

use super::parts::{HERE, TrialParts};
use super::{certificate, death};
use crate::error::DriverError;
use crate::gateway::{CERTIFICATE_FILE, KEY_FILE};
use crate::process::{Launcher, Supervised};
use crate::services::{Service, UpstreamStart, start_postgres, start_redis};
use crate::wire::Wire;

/// A target of the scenario's own upstream, or a further upstream.
#[derive(Debug)]
struct Target {
    /// The name of the further upstream; none for the scenario's own.
    name: Option<String>,
    start: UpstreamStart,
    address: SocketAddr,
    /// None while the target is deliberately down.
    process: Option<Supervised>,
}

/// The running upstreams. Dropping this value ends them. Their exit status does not matter, because
/// they have no data to save.
#[derive(Debug, Default)]
pub(super) struct Upstreams {
    all: Vec<Target>,
    redis: Option<Service>,
    postgres: Option<Service>,
    certificate: Option<Pem>,
}

impl Upstreams {
    /// Starts the targets of the scenario's own upstream and, if there is a gateway, the further
    /// upstreams, Redis and PostgreSQL. Without a gateway there is a single target, which uses the
    /// protocol that the gateway would use.
    pub(super) fn start(
        trial: &TrialParts<'_>,
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
        let mut upstreams = Self {
            certificate: identity.map(|it| it.chain.clone()),
            ..Self::default()
        };
        let cores = &trial.placement.upstream;
        let mut start = |name: Option<&str>, kind: UpstreamKind, folder: &str, listen| {
            let work = trial.folder.join(folder);
            let mut start = UpstreamStart::of(kind, work, cores, launcher);
            if let Some(identity) = identity {
                certificate::put(identity, &start.work)?;
                let words = ["--tls", "--cert", CERTIFICATE_FILE, "--key", KEY_FILE];
                start.command.extend(words.map(OsString::from));
            }
            let Service { process, addr } = start.start(SocketAddr::new(listen, 0))?;
            upstreams.all.push(Target {
                name: name.map(str::to_owned),
                start,
                address: addr,
                process: Some(process),
            });
            Ok::<(), DriverError>(())
        };
        start(None, scenario.upstream, "upstream", listen)?;
        for number in 2..=targets {
            let folder = format!("upstream-{number}");
            start(None, scenario.upstream, &folder, listen)?;
        }
        if is_direct {
            return Ok(upstreams);
        }
        for (name, kind) in &scenario.more_upstreams {
            start(Some(name), *kind, &format!("upstream-{name}"), HERE)?;
        }
        if scenario.needs_redis() {
            upstreams.redis = Some(start_redis(&trial.folder.join("redis"), cores, launcher)?);
        }
        let gateway = trial.gateway.map(|it| &it.folder.spec);
        if gateway.is_some_and(|it| it.needs_postgres(scenario)) {
            let work = trial.folder.join("postgres");
            upstreams.postgres = Some(start_postgres(&work, cores, launcher)?);
        }
        Ok(upstreams)
    }

    /// Returns the scenario with the address of its Redis.
    pub(super) fn with_redis(&self, scenario: &Scenario) -> Scenario {
        let scenario = scenario.clone();
        match &self.redis {
            Some(redis) => scenario.with_redis(redis.addr),
            None => scenario,
        }
    }

    /// Returns the addresses of the scenario's own upstream in order, including those that are
    /// down.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let own = self.all.iter().filter(|target| target.name.is_none());
        own.map(|target| target.address).collect()
    }

    /// Returns the further upstreams by name.
    pub(super) fn named(&self) -> Vec<(String, SocketAddr)> {
        let named = |target: &Target| Some((target.name.clone()?, target.address));
        self.all.iter().filter_map(named).collect()
    }

    /// Returns the running targets.
    pub(super) fn up(&self) -> Vec<Wire> {
        let up = self.all.iter().filter(|target| target.process.is_some());
        up.map(|target| Wire::new(target.address, self.certificate.clone()))
            .collect()
    }

    /// Returns the parent process of the upstream, if there is only one target.
    pub(super) fn only_root(&self) -> Option<u32> {
        match &self.all[..] {
            [target] => target.process.as_ref().map(Supervised::supervisor_pid),
            _ => None,
        }
    }

    /// Kills the first target.
    pub(super) fn kill_first(&mut self) {
        let first = self.all.first_mut();
        if let Some(mut process) = first.and_then(|target| target.process.take()) {
            process.kill();
        }
    }

    /// Restarts the first target at its address.
    pub(super) fn start_first_again(&mut self) -> Result<(), DriverError> {
        if let Some(target) = self.all.first_mut() {
            target.process = Some(target.start.start(target.address)?.process);
        }
        Ok(())
    }

    /// Returns the death of a target.
    pub(super) fn death(&mut self) -> Option<DriverError> {
        let mut running = self.all.iter_mut().filter_map(|it| it.process.as_mut());
        running.find_map(|process| {
            let exit = process.exit_status()?;
            Some(death::of_upstream(exit, &process.stderr_tail()))
        })
    }

    /// The address of PostgreSQL, if it was started.
    pub(super) fn database(&self) -> Option<SocketAddr> {
        self.postgres.as_ref().map(|it| it.addr)
    }

    /// Returns the name of a server other than the upstreams that was started and has ended.
    pub(super) fn ended_server(&mut self) -> Option<&'static str> {
        let servers = [
            ("Redis", &mut self.redis),
            ("PostgreSQL", &mut self.postgres),
        ];
        let running = servers
            .into_iter()
            .filter_map(|(name, it)| Some((name, it.as_mut()?)));
        let mut ended = running.filter_map(|(name, it)| (!it.process.is_alive()).then_some(name));
        ended.next()
    }
}
