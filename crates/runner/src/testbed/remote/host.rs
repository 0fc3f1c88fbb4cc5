//! This end: a host that is connected, and what is asked of it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gatebench_model::{Culprit, Elsewhere, Setup};
use gatebench_testbed::{Amount, DriverError, Folder, FoundBinary, Launcher, Limit, Link};
use serde::de::DeserializeOwned;

use super::SUBCOMMAND;
use super::protocol::{Answer, Ask, HURRY, Hello, Told};

/// How often it is seen whether the answer is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a gateway there may take to accept a connection from here.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// A host on which gateways run. Dropping it ends the connection, and what runs there.
#[derive(Debug)]
pub struct RemoteHost {
    name: String,
    link: Mutex<Link>,
    /// The address of this machine that the host reaches.
    pub(crate) here: IpAddr,
    /// The address of the host that this machine reaches.
    pub(super) there: IpAddr,
    /// Cores that may be used there, in ascending order.
    pub(crate) cores: Vec<usize>,
    samplers: AtomicU32,
}

impl RemoteHost {
    /// Connects to a host, and brings gatebench there.
    ///
    /// # Errors
    /// What `ssh` or the host said; no address at which the host reaches this machine.
    pub(crate) fn connect(elsewhere: &Elsewhere, launcher: &Launcher) -> Result<Self, DriverError> {
        let name = elsewhere.host.clone();
        let (link, greeting) = Link::open(&name, launcher, &[SUBCOMMAND])?;
        let hello: Hello =
            serde_json::from_str(&greeting).map_err(|error| Told::from(error).on(&name))?;
        let here = elsewhere.upstream_address.unwrap_or(hello.here);
        // The upstream will listen there.
        TcpListener::bind((here, 0)).map_err(|error| DriverError::Remote {
            culprit: Culprit::Environment,
            message: format!(
                "the upstream cannot listen at {here}, where {name} would reach it: {error}"
            ),
            remedy: format!(
                "name an address of this machine that {name} reaches: --upstream-address ADDRESS"
            ),
            is_missing: false,
        })?;
        Ok(Self {
            name,
            link: Mutex::new(link),
            here,
            there: hello.there,
            cores: hello.cores,
            samplers: AtomicU32::new(0),
        })
    }

    /// What the user calls it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The program there that a setup asks for.
    pub(crate) fn find(&self, folder: &Folder, setup: &Setup) -> Result<FoundBinary, DriverError> {
        let binary: FoundBinary = self.ask(&Ask::Find {
            folder: Box::new(folder.clone()),
            wanted: setup.version.clone(),
        })?;
        Ok(FoundBinary {
            host: Some(self.name.clone()),
            ..binary
        })
    }

    /// Where limits can be set there, or why they cannot.
    pub(crate) fn limits(
        &self,
        amounts: &[Amount],
    ) -> Result<Result<Vec<Limit>, String>, DriverError> {
        self.ask(&Ask::Limits {
            amounts: amounts.to_vec(),
        })
    }

    /// A number for a new sampler.
    pub(super) fn next_sampler(&self) -> u32 {
        self.samplers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn ask<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, DriverError> {
        self.ask_unless(ask, || false)
    }

    /// Asks; where the answer is not wanted any more, says so once, and the answer comes soon.
    pub(super) fn ask_unless<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        is_unwanted: impl Fn() -> bool,
    ) -> Result<T, DriverError> {
        let told = |error| Told::from(error).on(&self.name);
        let question = serde_json::to_string(ask).map_err(told)?;
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.say(&question)?;
        let mut hurried = false;
        let line = loop {
            if let Some(line) = link.hear(LOOK_EVERY)? {
                break line;
            }
            if !hurried && is_unwanted() {
                link.say(HURRY)?;
                hurried = true;
            }
        };
        let answer: Answer = serde_json::from_str(&line).map_err(told)?;
        let answer = answer.map_err(|error| error.on(&self.name))?;
        serde_json::from_value(answer).map_err(told)
    }

    /// Sees that a gateway that answers there is also reached from here.
    pub(super) fn must_be_reached(&self, address: SocketAddr) -> Result<(), DriverError> {
        let reached = TcpStream::connect_timeout(&address, REACH_TIMEOUT);
        reached.map(drop).map_err(|error| DriverError::Remote {
            culprit: Culprit::Environment,
            message: format!(
                "the gateway responds on {} at {address}, but cannot be reached from here: {error}",
                self.name
            ),
            remedy: format!(
                "in the firewall of {}, allow connections from this machine to the ports of /proc/sys/net/ipv4/ip_local_port_range",
                self.name
            ),
            is_missing: false,
        })
    }
}

/// The hosts of a run, each connected once.
#[derive(Debug, Default)]
pub(crate) struct RemoteHosts {
    connected: BTreeMap<String, Arc<RemoteHost>>,
}

impl RemoteHosts {
    /// The host of a setup; none where that is this machine.
    pub(crate) fn of(
        &mut self,
        setup: &Setup,
        launcher: &Launcher,
    ) -> Result<Option<Arc<RemoteHost>>, DriverError> {
        let elsewhere = setup.elsewhere.as_ref();
        elsewhere.map(|it| self.at(it, launcher)).transpose()
    }

    /// This host.
    pub(crate) fn at(
        &mut self,
        elsewhere: &Elsewhere,
        launcher: &Launcher,
    ) -> Result<Arc<RemoteHost>, DriverError> {
        if let Some(host) = self.connected.get(&elsewhere.host) {
            return Ok(Arc::clone(host));
        }
        let host = Arc::new(RemoteHost::connect(elsewhere, launcher)?);
        self.connected
            .insert(elsewhere.host.clone(), Arc::clone(&host));
        Ok(host)
    }
}
