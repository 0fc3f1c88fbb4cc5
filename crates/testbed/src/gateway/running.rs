//! A running gateway.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::action;
use super::admin::AdminCalls;
use super::render::RenderedFile;
use crate::error::DriverError;
use crate::process::Supervised;

/// A gateway on this machine that responds. Dropping it stops the process.
#[derive(Debug)]
pub struct LocalGateway {
    /// The supervised process.
    pub process: Supervised,
    /// The result of its start.
    pub started: Started,
    pub(super) gateway: String,
    pub(super) actions: Vec<action::Ready>,
}

/// The result of starting a gateway, on this machine or another host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Started {
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The address of its metrics, if it serves any.
    pub metrics: Option<SocketAddr>,
    /// The time from its start to its first response. The check before the start and the time to
    /// settle are not included.
    pub ready_after: Duration,
    /// The time from its start to the last observation that it was not ready. It became ready
    /// between this time and `ready_after`.
    pub not_ready_before: Duration,
    /// The commands that ran: check, start.
    pub commands: Vec<Vec<String>>,
    /// The files that were rendered.
    pub rendered: Vec<RenderedFile>,
    /// The scenario's requests to its admin interface.
    pub admin: Option<AdminCalls>,
}

impl LocalGateway {
    /// Runs one of the folder's `actions`: `reload`; `configure`, which first writes the files of
    /// the changed scenario; or `weights`, which first writes the files with the next weights.
    ///
    /// # Errors
    /// [`DriverError::Action`] if there is no such action, or if it failed.
    pub fn act(&mut self, name: &str) -> Result<(), DriverError> {
        match self.actions.iter_mut().find(|action| action.name == name) {
            Some(action) => action.perform(&mut self.process),
            None => Err(DriverError::Action {
                gateway: self.gateway.clone(),
                action: name.into(),
                message: "its folder has no such action".into(),
            }),
        }
    }
}
