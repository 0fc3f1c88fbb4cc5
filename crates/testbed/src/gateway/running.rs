//! A gateway that is up.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::action;
use super::admin::AdminCalls;
use super::render::RenderedFile;
use crate::error::DriverError;
use crate::process::{Root, Supervised};
use crate::system::exit::{Ended, Exit};

/// A gateway that answers. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    pub(crate) process: Supervised,
    pub(crate) gateway: String,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Where it tells of itself, if it is to.
    pub metrics: Option<SocketAddr>,
    /// From its start, without the check before it, until it responded, without the time it had to
    /// settle.
    pub ready_after: Duration,
    /// From its start until the last look at which it was not ready: `ready_after` is known to the
    /// time between the two.
    pub not_ready_before: Duration,
    /// The commands that were run: check, start.
    pub commands: Vec<Vec<String>>,
    /// The files that were rendered.
    pub rendered: Vec<RenderedFile>,
    pub(crate) actions: Vec<action::Ready>,
    /// What the scenario has done through its admin interface.
    pub admin: Option<AdminCalls>,
}

impl Running {
    /// Where its processes are.
    pub fn root(&self) -> Root {
        self.process.root()
    }

    /// The supervisor: a gateway outside of a container is everything *below* this process.
    pub fn supervisor_pid(&self) -> u32 {
        self.process.pid()
    }

    /// Where its standard output goes.
    pub fn stdout_log(&self) -> &Path {
        &self.process.stdout
    }

    /// Where its standard error goes.
    pub fn stderr_log(&self) -> &Path {
        &self.process.stderr
    }

    /// The end of what it wrote to standard error.
    pub fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    /// Whether its main process still runs.
    pub fn is_alive(&mut self) -> bool {
        self.process.exit().is_none()
    }

    /// How its main process ended, if it did.
    pub fn exit_status(&mut self) -> Option<Exit> {
        self.process.exit()
    }

    /// Does what the folder names under `actions`: `reload`; `configure`, before which the files of the
    /// scenario after its change are written; or `weights`, before which those with the next weights are.
    ///
    /// # Errors
    /// [`DriverError::Action`] where there is no such action or it failed.
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

    /// Ends it and everything it started.
    pub fn stop(&mut self) -> Ended {
        self.process.stop()
    }
}
