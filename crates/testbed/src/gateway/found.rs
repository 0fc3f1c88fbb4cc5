//! A gateway with everything that a variant needs.

use gatebench_model::{Scenario, Setup};
use serde::{Deserialize, Serialize};

use super::binary::FoundBinary;
use super::folder::Folder;
use super::limiter::Limiter;
use crate::error::{DriverError, Unsupported};
use crate::process::Launcher;

/// A gateway that was found on this machine or another host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundGateway {
    /// Its folder, with the user's configuration.
    pub folder: Folder,
    /// Its program in the requested version.
    pub binary: FoundBinary,
    /// The means that hold it to its limits.
    pub limiter: Limiter,
}

impl FoundGateway {
    /// Finds the program of a folder on this machine, and the means to limit it.
    pub(crate) fn find(
        folder: Folder,
        setup: &Setup,
        launcher: &Launcher,
    ) -> Result<Self, DriverError> {
        let binary = folder.find_binary_of(setup.version.as_deref(), launcher)?;
        let limiter = match &binary.image {
            Some(_) => Ok(Limiter::of_container(setup.limits)),
            None => Limiter::of_process(setup.limits, setup.cores),
        };
        let limiter = limiter.map_err(|why| DriverError::Limits {
            gateway: folder.spec.gateway.clone(),
            limits: setup.limits.to_string(),
            why: why.to_string(),
        })?;
        Ok(Self {
            folder,
            binary,
            limiter,
        })
    }

    /// Checks that it supports a scenario.
    ///
    /// # Errors
    /// The policies and extras that it lacks.
    pub fn supports(&self, scenario: &Scenario) -> Result<(), Unsupported> {
        self.folder.supports(scenario, &self.binary)
    }
}
