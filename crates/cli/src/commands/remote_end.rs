//! `gatebench remote-end`: runs on a gateway's host, at the other end of `ssh`.

use clap::Args;

use super::values::launcher;
use crate::exit::Exit;
use crate::failure::Failure;

/// Start gateways on this host for a gatebench on another host
#[derive(Debug, Args)]
pub struct RemoteEnd {}

impl RemoteEnd {
    /// Serves until the other end closes the connection.
    pub fn run(self) -> Result<Exit, Failure> {
        match gatebench_testbed::remote::serve(launcher()?) {
            Ok(()) => Ok(Exit::Fine),
            Err(error) => Err(Failure::environment(
                error.to_string(),
                "`gatebench run --gateway-on USER@HOST` starts this over ssh",
            )),
        }
    }
}
