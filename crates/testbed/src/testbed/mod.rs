//! Connects to the machines that the parts of trials run on, and starts these parts.
//!
//! This module must not depend on loads, plans or records.

mod certificate;
mod death;
mod parts;
mod placed;
mod running;
mod shutdown;
mod upstreams;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use gatebench_model::{AttachedPod, Elsewhere, Limits, Place, Places, Scenario, Setup, Variant};
use gatebench_net::tls::Identity;

pub use parts::{Part, TrialParts};
pub use placed::GatewaySampler;
pub use running::Running;
pub use shutdown::Shutdown;

use crate::error::DriverError;
use crate::gateway::{self, Attached, Folder, FoundGateway, GatewayStart};
use crate::interrupt::{Interrupt, Urgency};
use crate::kubernetes::{self, GatewayPod, Pod, Pods};
use crate::probe::clock_identity;
use crate::process::{Launcher, Supervised};
use crate::remote::{RemoteGateway, RemoteHost, WatchedPod};
use crate::services::{GENERATOR_NOFILE, GeneratorStart};
use crate::wire::Wire;
use parts::HERE;
use placed::PlacedGateway;
use upstreams::{Hosts, Upstreams};

/// The machines that the parts of trials run on: this machine and, optionally, other hosts or pods.
/// Dropping the last copy ends the connections to them.
#[derive(Clone, Debug)]
pub struct Testbed {
    launcher: Launcher,
    /// The connections to the places where gateways run, except this machine.
    gateways: BTreeMap<Place, Arc<RemoteHost>>,
    others: Hosts,
    /// The address that gateways, upstreams and Redis on this machine listen on, unless the gateway
    /// is on another host.
    here: IpAddr,
    /// The pod of an attached gateway; empty until gatebench watches the gateway.
    watched: OnceLock<Arc<WatchedPod>>,
    /// The pods of the run. They are deleted after all connections have ended.
    pods: Option<Arc<Pods>>,
}

/// Connects to the host of the gateways, or to the pod of each gateway.
fn gateways(
    launcher: &Launcher,
    elsewhere: Option<&Elsewhere>,
    pods: Option<&Pods>,
) -> Result<BTreeMap<Place, Arc<RemoteHost>>, DriverError> {
    let (Some(Place::Pod(_)), Some(pods)) = (elsewhere.map(|it| &it.host), pods) else {
        let connect = |elsewhere: &Elsewhere| {
            let host = RemoteHost::of_gateways(elsewhere, &launcher.program)?;
            Ok((elsewhere.host.clone(), Arc::new(host)))
        };
        return elsewhere.into_iter().map(connect).collect();
    };
    let connect = |pod: &Pod| {
        let program = match pods.needs_whole(&pod.place) {
            true => launcher.program.clone(),
            false => launcher.small(),
        };
        let place = Place::Pod(pod.place.clone());
        let host = RemoteHost::connect(&place, &program, Some(pods))?;
        Ok((place, Arc::new(host)))
    };
    pods.gateways().map(connect).collect()
}

impl Testbed {
    /// Connects to the hosts or pods of the gateways, the upstreams and Redis, unless these are on
    /// this machine, and copies gatebench to them.
    ///
    /// # Errors
    /// The error of `ssh` or `kubectl`, or of the host.
    pub fn open(
        launcher: &Launcher,
        gateways_on: Option<&Elsewhere>,
        places: &Places,
        pods: Option<Arc<Pods>>,
    ) -> Result<Self, DriverError> {
        let all = pods.as_deref();
        let small = launcher.small();
        let other = |place: &Place| Ok(Arc::new(RemoteHost::connect(place, &small, all)?));
        let upstreams = places.upstream.iter().map(other);
        // In a cluster, Redis has a pod only if a scenario needs Redis.
        let has_pod = |place: &&Place| match place {
            Place::Pod(name) => all.is_some_and(|pods| pods.at(name).is_some()),
            _ => true,
        };
        let redis = places.redis.iter().filter(has_pod).map(other).next();
        Ok(Self {
            launcher: launcher.clone(),
            gateways: gateways(launcher, gateways_on, all)?,
            others: Hosts {
                upstreams: upstreams.collect::<Result<_, DriverError>>()?,
                redis: redis.transpose()?,
            },
            here: HERE,
            watched: OnceLock::new(),
            pods,
        })
    }

    pub fn pods(&self) -> Option<&Arc<Pods>> {
        self.pods.as_ref()
    }

    /// Sets the address that gateways and upstreams on this machine listen on, so that load
    /// generators on other machines can reach them.
    #[must_use]
    pub fn reached_at(self, here: Option<IpAddr>) -> Self {
        let here = here.unwrap_or(self.here);
        Self { here, ..self }
    }

    /// Adds a container to an attached gateway's pod, to read the gateway's CPU time and memory,
    /// and copies gatebench to the container. The container stays in the pod, so call this only
    /// after the run has started.
    ///
    /// # Errors
    /// The selector matches no pod or more than one, the container cannot be added, or gatebench
    /// cannot be started in it.
    pub fn watch(&self, pod: &AttachedPod, interrupt: &Interrupt) -> Result<(), DriverError> {
        if self.watched.get().is_none() {
            let watched = WatchedPod::connect(pod, &self.launcher, interrupt)?;
            self.watched.get_or_init(|| Arc::new(watched));
        }
        Ok(())
    }

    /// Returns the host of the gateways; `None` for this machine. If the gateways have several
    /// pods, returns the pod with the most cores.
    pub fn host(&self) -> Option<&RemoteHost> {
        let hosts = self.gateways.values();
        hosts.max_by_key(|host| host.cores.len()).map(|it| &**it)
    }

    /// Returns the identity of the clock of each upstream host, in the format of
    /// [`clock_identity`].
    pub fn upstream_clocks(&self) -> Vec<String> {
        match &self.others.upstreams[..] {
            [] => vec![clock_identity()],
            hosts => hosts.iter().map(|host| host.clock.clone()).collect(),
        }
    }

    /// Finds a gateway on its machine, and the mechanism that enforces its limits.
    ///
    /// # Errors
    /// The gateway's program is missing, has another version, or cannot be limited, or the
    /// connection to its host is lost.
    pub fn find(&self, folder: Folder, setup: &Setup) -> Result<FoundGateway, DriverError> {
        let place = match setup.elsewhere.as_ref().map(|it| &it.host) {
            None => return FoundGateway::find(folder, setup, &self.launcher),
            Some(Place::Pod(_)) => Place::Pod(GatewayPod::place_of(&folder.spec.gateway, setup)),
            Some(place) => place.clone(),
        };
        let host = self.gateways.get(&place);
        let host = host.ok_or_else(|| kubernetes::no_pod(&place.to_string()))?;
        host.find(folder, setup)
    }

    /// Reports whether these limits can be enforced on gateways.
    ///
    /// # Errors
    /// The connection to the host is lost.
    pub fn can_hold(&self, limits: Limits) -> Result<bool, DriverError> {
        match self.host() {
            None => Ok(gateway::can_hold(limits)),
            Some(host) => host.can_hold(limits),
        }
    }

    /// Checks that a gateway supports a scenario, and renders the gateway's files and commands as
    /// if to start it. Starts no process.
    ///
    /// # Errors
    /// The gateway does not support the scenario, a template does not render, or the user's
    /// configuration does not use the ports that its template is given.
    pub fn rehearse(
        &self,
        gateway: &FoundGateway,
        scenario: &Scenario,
        cores: &[usize],
    ) -> Result<(), DriverError> {
        gateway::rehearse(gateway, scenario, cores, &self.launcher)
    }

    /// Starts the upstreams, the servers that the scenario and the gateway need, and the gateway of
    /// a trial. Each part is started once the previous part is ready. An attached gateway is only
    /// checked. `begin` is called before each part, and its error ends the start. After an error,
    /// an interrupt or a panic, no process is left.
    ///
    /// # Errors
    /// The error of `begin`, or of a part.
    pub fn start<E: From<DriverError>>(
        &self,
        trial: &TrialParts<'_>,
        interrupt: &Interrupt,
        begin: impl Fn(Part) -> Result<(), E>,
    ) -> Result<Running, E> {
        interrupt.cuts_short(Urgency::Stop, || {
            if let Variant::Attached { name, url, pid, .. } = trial.variant {
                begin(Part::Gateway)?;
                let watched = self.watched.get().cloned();
                return Ok(Running::attached(name, Attached::new(url, *pid)?, watched));
            }
            begin(Part::Upstream)?;
            let identity = certificate::create(trial.scenario)?;
            let host = self.host_of(trial.gateway);
            let listen = host.map_or(self.here, |host| host.here);
            let upstreams = Upstreams::start(
                trial,
                &self.others,
                listen,
                identity.as_ref(),
                &self.launcher,
            )?;
            let Some(gateway) = trial.gateway else {
                return Ok(Running::direct(upstreams));
            };
            begin(Part::Gateway)?;
            let placed =
                self.start_gateway(trial, gateway, &upstreams, identity.as_ref(), interrupt)?;
            let certificate = identity.filter(|_| trial.scenario.transport.tls);
            let target = Wire::new(placed.started().address, certificate.map(|it| it.chain))
                .explained_by(placed.here().map(|it| it.process.stderr.clone()));
            Ok(Running::with_gateway(
                trial, gateway, placed, target, upstreams,
            ))
        })
    }

    fn start_gateway(
        &self,
        trial: &TrialParts<'_>,
        gateway: &FoundGateway,
        upstreams: &Upstreams,
        identity: Option<&Identity>,
        interrupt: &Interrupt,
    ) -> Result<PlacedGateway, DriverError> {
        let work = trial.gateway_work();
        identity.map_or(Ok(()), |identity| certificate::put(identity, &work))?;
        let start = GatewayStart {
            gateway,
            scenario: &upstreams.with_redis(trial.scenario),
            work: &work,
            cores: trial.gateway_cores(),
            control_plane_cores: &trial.placement.upstream,
            listen: self.here,
            targets: &upstreams.addresses(),
            more_upstreams: &upstreams.named(),
            database: upstreams.database(),
            connections: trial.connections,
            profile: trial.profile,
            ports: &[],
            launcher: &self.launcher,
        };
        Ok(match self.host_of(Some(gateway)) {
            None => PlacedGateway::Here(Box::new(start.start(trial.opening)?)),
            Some(host) => {
                let started = RemoteGateway::start(host, &start, interrupt)?;
                PlacedGateway::There(Box::new(started))
            }
        })
    }

    /// Returns the host of a gateway; `None` for this machine.
    fn host_of(&self, gateway: Option<&FoundGateway>) -> Option<&Arc<RemoteHost>> {
        let name = gateway?.binary.host.as_deref()?;
        self.gateways.values().find(|host| host.name() == name)
    }

    /// # Errors
    /// The load generator's folder cannot be created, or the supervisor cannot be started.
    pub fn start_generator(&self, start: GeneratorStart<'_>) -> Result<Supervised, DriverError> {
        start.start(GENERATOR_NOFILE, &self.launcher)
    }
}
