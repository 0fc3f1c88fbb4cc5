//! Errors of running a load.

use std::io;

use gatebench_net::Peer;

use crate::connect_error::ConnectError;
use crate::data::DataError;

/// The reason that a load could not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No connection could be made.
    #[error("cannot connect to {address}: {reason}")]
    Unreachable {
        /// The target.
        address: Peer,
        /// Why.
        reason: ConnectError,
    },
    /// The requests cannot be made of the values given.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The kernel refused something the engine needs.
    #[error("the load generator cannot run here: {0}")]
    Environment(#[from] io::Error),
}
