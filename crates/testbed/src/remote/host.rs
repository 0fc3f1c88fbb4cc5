//! The local end: a connected host, and the requests to it.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gatebench_model::{Elsewhere, Limits, Setup};
use serde::de::DeserializeOwned;

use super::carrier::Carrier;
use super::connection::Connection;
use super::protocol::{Ask, CANCEL, Hello, Response};
use crate::error::{DriverError, RemoteError};
use crate::gateway::{Folder, FoundGateway};
use crate::process::Launcher;

/// The interval between checks of whether the response is still needed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The timeout of a connection from this machine to a gateway on the host.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// A host on which gateways run. Dropping it ends the connection and all processes on the host.
#[derive(Debug)]
pub struct RemoteHost {
    name: String,
    link: Mutex<Connection>,
    /// The address at which the host reaches this machine.
    pub(crate) here: IpAddr,
    /// The address at which this machine reaches the host.
    pub(super) there: IpAddr,
    /// The cores available on the host, in ascending order.
    pub cores: Vec<usize>,
    samplers: AtomicU32,
}

impl RemoteHost {
    /// Connects to a host, and copies gatebench to it if necessary.
    ///
    /// # Errors
    /// `ssh` or the host fails, or the upstream cannot listen on the address at which the host
    /// reaches this machine.
    pub(crate) fn connect(elsewhere: &Elsewhere, launcher: &Launcher) -> Result<Self, DriverError> {
        let carrier = Carrier::Ssh {
            host: elsewhere.host.clone(),
            identity: elsewhere.identity.clone(),
        };
        let mut host = Self::over(carrier, launcher)?;
        let name = &host.name;
        let here = elsewhere.upstream_address.unwrap_or(host.here);
        // The upstream will listen on this address.
        TcpListener::bind((here, 0)).map_err(|error| {
            RemoteError::environment(
                format!("the upstream cannot listen at {here}, where {name} would reach it: {error}"),
                format!("choose an address of this machine that {name} can reach: --upstream-address ADDRESS"),
            )
        })?;
        host.here = here;
        host.there = elsewhere.address.unwrap_or(host.there);
        Ok(host)
    }

    /// Connects to a machine, and copies gatebench to it if necessary.
    pub(super) fn over(carrier: Carrier, launcher: &Launcher) -> Result<Self, DriverError> {
        let name = carrier.name().to_owned();
        let (link, greeting) = Connection::open(carrier, launcher)?;
        let hello: Hello =
            serde_json::from_str(&greeting).map_err(|error| RemoteError::from(error).on(&name))?;
        Ok(Self {
            name,
            link: Mutex::new(link),
            here: hello.here,
            there: hello.there,
            cores: hello.cores,
            samplers: AtomicU32::new(0),
        })
    }

    /// Returns the user's name for the host.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Finds the gateway of a setup on the host.
    pub(crate) fn find(&self, folder: Folder, setup: &Setup) -> Result<FoundGateway, DriverError> {
        let mut gateway: FoundGateway = self.ask(&Ask::Find {
            folder: Box::new(folder),
            setup: Box::new(setup.clone()),
        })?;
        gateway.binary.host = Some(self.name.clone());
        Ok(gateway)
    }

    /// Reports whether gateways on the host can be held to these limits.
    pub(crate) fn can_hold(&self, limits: Limits) -> Result<bool, DriverError> {
        self.ask(&Ask::CanHold { limits })
    }

    /// Returns a number for a new sampler.
    pub(super) fn next_sampler(&self) -> u32 {
        self.samplers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn ask<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, DriverError> {
        self.ask_unless(ask, || false)
    }

    /// Sends a request and waits for its response. If `is_unwanted` returns true in the meantime,
    /// the request is cancelled once, and the response then arrives soon.
    pub(super) fn ask_unless<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        is_unwanted: impl Fn() -> bool,
    ) -> Result<T, DriverError> {
        let failed = |error| RemoteError::from(error).on(&self.name);
        let question = serde_json::to_string(ask).map_err(failed)?;
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.say(&question)?;
        let mut is_cancelled = false;
        let line = loop {
            if let Some(line) = link.hear(LOOK_EVERY)? {
                break line;
            }
            if !is_cancelled && is_unwanted() {
                link.say(CANCEL)?;
                is_cancelled = true;
            }
        };
        let response: Response = serde_json::from_str(&line).map_err(failed)?;
        let response = response.map_err(|error| error.on(&self.name))?;
        serde_json::from_value(response).map_err(failed)
    }

    /// Checks that this machine can connect to a gateway that responds on the host.
    pub(super) fn must_be_reached(&self, address: SocketAddr) -> Result<(), DriverError> {
        let name = &self.name;
        TcpStream::connect_timeout(&address, REACH_TIMEOUT).map_err(|error| {
            RemoteError::environment(
                format!("the gateway responds on {name} at {address}, but cannot be reached from this machine: {error}"),
                format!("in the firewall of {name}, allow connections from this machine to the ports in /proc/sys/net/ipv4/ip_local_port_range"),
            )
        })?;
        Ok(())
    }
}
