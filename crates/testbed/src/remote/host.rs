//! The local end, which connects to a host and sends requests to it.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gatebench_model::{Elsewhere, Limits, Place, Setup};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::carrier::Carrier;
use super::connection::Connection;
use super::protocol::{Ask, CANCEL, Hello, Numbered, Response, VERSION};
use crate::error::{DriverError, RemoteError};
use crate::gateway::{Folder, FoundGateway, Limiter};
use crate::kubernetes::Pods;

/// The interval between checks of whether the response is still needed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The timeout for connecting from this machine to a gateway, an upstream or Redis on the host.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// A place whose remote end runs gateways, upstreams, Redis or a load generator, or watches a
/// gateway. Dropping it ends the connection and all processes that the remote end started.
#[derive(Debug)]
pub struct RemoteHost {
    name: String,
    is_pod: bool,
    link: Mutex<Asking>,
    /// The address of this machine that the host can reach; not meaningful for a pod.
    pub here: IpAddr,
    /// The address of the host that this machine can reach.
    pub there: IpAddr,
    /// The cores that gatebench may use on the host, in ascending order.
    pub cores: Vec<usize>,
    /// The host's clock, as in [`crate::probe::clock_identity`].
    pub clock: String,
    samplers: AtomicU32,
}

/// The connection, and the number of requests that were sent over it.
#[derive(Debug)]
struct Asking {
    link: Connection,
    asked: u64,
}

impl RemoteHost {
    /// Connects to a place, which may be a pod of the run, and copies the program there if
    /// necessary.
    ///
    /// # Errors
    /// The place cannot be reached or used, or it runs another version of gatebench.
    pub fn connect(
        place: &Place,
        program: &Path,
        pods: Option<&Pods>,
    ) -> Result<Self, DriverError> {
        let host = Self::over(Carrier::to(place, pods)?, program)?;
        let address = match place {
            Place::Ssh(host) => host.address,
            Place::Here | Place::Pod(_) => None,
        };
        Ok(Self {
            there: address.unwrap_or(host.there),
            ..host
        })
    }

    /// Connects to the host of the gateways.
    ///
    /// # Errors
    /// Like [`Self::connect`]; also if the upstream cannot listen on the address that the host can
    /// reach.
    pub(crate) fn of_gateways(elsewhere: &Elsewhere, program: &Path) -> Result<Self, DriverError> {
        Self::connect(&elsewhere.host, program, None)?.reached_at(elsewhere.upstream_address)
    }

    pub(super) fn over(carrier: Carrier, program: &Path) -> Result<Self, DriverError> {
        let name = carrier.name().to_owned();
        let is_pod = matches!(carrier, Carrier::Pod { .. });
        let (link, greeting) = Connection::open(carrier, program)?;
        let hello: Hello =
            serde_json::from_str(&greeting).map_err(|error| RemoteError::from(error).on(&name))?;
        if hello.version != VERSION {
            let what = format!(
                "{} has version {}, but this is gatebench {VERSION}",
                program.display(),
                hello.version
            );
            return Err(
                RemoteError::environment(what, "build both from the same sources").on(&name),
            );
        }
        Ok(Self {
            name,
            is_pod,
            link: Mutex::new(Asking { link, asked: 0 }),
            here: hello.here,
            there: hello.there,
            cores: hello.cores,
            clock: hello.clock,
            samplers: AtomicU32::new(0),
        })
    }

    /// Replaces the address of this machine that the host can reach, if another is given, and
    /// checks that an upstream can listen on it.
    fn reached_at(mut self, address: Option<IpAddr>) -> Result<Self, DriverError> {
        let (here, name) = (address.unwrap_or(self.here), &self.name);
        TcpListener::bind((here, 0)).map_err(|error| {
            RemoteError::environment(
                format!("the upstream cannot listen at {here}, where {name} would reach it: {error}"),
                format!("choose an address of this machine that {name} can reach: --upstream-address ADDRESS"),
            )
        })?;
        self.here = here;
        Ok(self)
    }

    /// The name of the host in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn find(&self, folder: Folder, setup: &Setup) -> Result<FoundGateway, DriverError> {
        let limits = setup.limits;
        let setup = match self.is_pod {
            true => &in_pod(setup),
            false => setup,
        };
        let mut gateway: FoundGateway = self.ask(&Ask::Find {
            folder: Box::new(folder),
            setup: Box::new(setup.clone()),
        })?;
        if self.is_pod {
            gateway.limiter = Limiter::of_pod(limits);
        }
        gateway.binary.host = Some(self.name.clone());
        Ok(gateway)
    }

    /// Reports whether these limits can be enforced on gateways on the host.
    pub(crate) fn can_hold(&self, limits: Limits) -> Result<bool, DriverError> {
        if self.is_pod {
            // The pod was created with this size.
            return Ok(true);
        }
        self.ask(&Ask::CanHold { limits })
    }

    pub(super) fn next_sampler(&self) -> u32 {
        self.samplers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn ask<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, DriverError> {
        self.ask_unless(ask, || false)
    }

    /// Sends a request to the role of the remote end, and waits for the response for at most
    /// `limit`, not counting the time without a connection.
    ///
    /// # Errors
    /// The connection breaks, there is no response in time, or the role returns an error.
    pub fn ask_role<T: DeserializeOwned>(
        &self,
        ask: &impl Serialize,
        limit: Duration,
    ) -> Result<T, DriverError> {
        let ask = serde_json::to_value(ask).map_err(|error| self.failed(error))?;
        let deadline = Instant::now() + limit;
        self.ask_until(&Ask::Role(ask), || false, Some(deadline))
    }

    /// Sends a request and waits for its response. If `is_unwanted` returns true in the meantime,
    /// the request is canceled, so that the response arrives soon.
    pub(super) fn ask_unless<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        is_unwanted: impl Fn() -> bool,
    ) -> Result<T, DriverError> {
        self.ask_until(ask, is_unwanted, None)
    }

    fn ask_until<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        is_unwanted: impl Fn() -> bool,
        deadline: Option<Instant>,
    ) -> Result<T, DriverError> {
        let mut asking = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        asking.asked += 1;
        let number = asking.asked;
        let question = serde_json::to_string(&Numbered {
            number,
            message: ask,
        });
        let link = &mut asking.link;
        // The deadline is extended by the time without a connection, because the other end could
        // not respond during that time.
        let outage = link.outage();
        link.say(&question.map_err(|error| self.failed(error))?)?;
        let mut is_canceled = false;
        let response = loop {
            if let Some(line) = link.hear(LOOK_EVERY)? {
                let heard: Numbered<Response> =
                    serde_json::from_str(&line).map_err(|error| self.failed(error))?;
                // A response with a smaller number was repeated, or arrived too late.
                if heard.number >= number {
                    break heard.message;
                }
            }
            if !is_canceled && is_unwanted() {
                link.say(CANCEL)?;
                is_canceled = true;
            }
            let late = link.outage() - outage;
            if deadline.is_some_and(|deadline| deadline + late <= Instant::now()) {
                link.abandon();
                return Err(RemoteError::environment(
                    "gatebench does not respond",
                    "make sure that the host is up, that it is not overloaded, and that the network to it works",
                )
                .on(&self.name));
            }
        };
        let response = response.map_err(|error| error.on(&self.name))?;
        serde_json::from_value(response).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: serde_json::Error) -> DriverError {
        RemoteError::from(error).on(&self.name)
    }

    /// Checks that this machine can connect to a part of the testbed that responds on the host.
    pub(super) fn must_be_reached(
        &self,
        part: &str,
        address: SocketAddr,
    ) -> Result<(), DriverError> {
        let name = &self.name;
        TcpStream::connect_timeout(&address, REACH_TIMEOUT).map_err(|error| {
            RemoteError::environment(
                format!("the {part} responds on {name} at {address}, but cannot be reached from this machine: {error}"),
                match self.is_pod {
                    true => "run gatebench where the addresses of pods can be reached: on a node, or in a pod of the cluster".to_owned(),
                    false => format!("in the firewall of {name}, allow connections from this machine to the ports in its /proc/sys/net/ipv4/ip_local_port_range"),
                },
            )
        })?;
        Ok(())
    }
}

/// Returns the setup for the other end. It has no limits, because the size of the pod limits the
/// gateway. A version that names an image is left out, because the pod already runs the image.
fn in_pod(setup: &Setup) -> Setup {
    let version = setup.version.clone();
    Setup {
        version: version.filter(|it| !it.contains(':')),
        limits: Limits::default(),
        elsewhere: None,
        ..setup.clone()
    }
}
