//! The control plane of a gateway: a process that can be killed and restarted under load.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::error::DriverError;
use crate::process::{Launcher, Orders, Supervised};
use crate::system::command::wait_until;
use crate::system::processes;

/// In the gateway's working folder, the names of the control plane's logs and of its container's
/// state file begin with this word.
pub(super) const NAME: &str = "control-plane";

#[derive(Clone, Debug)]
pub(super) struct Start {
    pub gateway: String,
    pub orders: Orders,
    pub environment: BTreeMap<String, String>,
    pub work: PathBuf,
    pub address: SocketAddr,
    /// The time that the control plane may take to start listening.
    pub timeout: Duration,
    pub launcher: Launcher,
}

/// A control plane. Dropping it stops the process.
#[derive(Debug)]
pub(super) struct ControlPlane {
    start: Start,
    /// None while the control plane is deliberately down.
    process: Option<Supervised>,
}

impl ControlPlane {
    pub(super) fn start(start: Start) -> Result<Self, DriverError> {
        let process = Some(listening(&start)?);
        Ok(Self { start, process })
    }

    /// Returns the process that actions are performed on. Fails while the control plane is down.
    pub(super) fn process(&mut self) -> Result<&mut Supervised, DriverError> {
        let gateway = &self.start.gateway;
        let down = || DriverError::ControlPlane {
            gateway: gateway.clone(),
            message: "it is down".into(),
            stderr: String::new(),
        };
        self.process.as_mut().ok_or_else(down)
    }

    /// Kills all processes of the control plane, to simulate an outage.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    pub(super) fn start_again(&mut self) -> Result<(), DriverError> {
        self.process = Some(listening(&self.start)?);
        Ok(())
    }

    /// Returns an error if the control plane ended by itself.
    pub(super) fn death(&mut self) -> Option<DriverError> {
        let process = self.process.as_mut()?;
        let exit = process.exit_status()?;
        Some(DriverError::ControlPlane {
            gateway: self.start.gateway.clone(),
            message: format!("it ended ({exit})"),
            stderr: process.output_tail(),
        })
    }
}

/// Starts the control plane, and waits until it, and no other process, listens on its address.
fn listening(start: &Start) -> Result<Supervised, DriverError> {
    let Start {
        orders,
        environment,
        work,
        ..
    } = start;
    let mut process = Supervised::spawn(&start.launcher, orders, environment, work, NAME)
        .map_err(DriverError::at("start the control plane in", work))?;
    let listens = wait_until(Instant::now() + start.timeout, || {
        if let Some(exit) = process.exit_status() {
            return Some(Err(format!("it ended ({exit})")));
        }
        let listeners = processes::listeners(start.address);
        let ours = processes::sockets_of(&processes::tree(process.tree().0));
        (!listeners.is_empty() && listeners.is_subset(&ours)).then_some(Ok(()))
    });
    let late = || {
        let (address, timeout) = (start.address, start.timeout);
        Err(format!("it did not listen on {address} within {timeout:?}"))
    };
    let stderr = process.output_tail();
    match listens.unwrap_or_else(late) {
        Ok(()) => Ok(process),
        Err(message) => Err(DriverError::ControlPlane {
            gateway: start.gateway.clone(),
            message,
            stderr,
        }),
    }
}
