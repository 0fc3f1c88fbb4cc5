//! `gatebench splice LISTEN TARGET`: the null gateway.

use std::net::SocketAddr;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

/// Copy bytes between clients and a target until Ctrl-C
#[derive(Debug, Args)]
pub struct Splice {
    /// The address that clients connect to
    listen: SocketAddr,
    /// The address that receives their bytes
    target: SocketAddr,
}

impl Splice {
    /// Copies until a signal stops it.
    pub fn run(self) -> Result<Exit, Failure> {
        let stop = signals::stop_flag()?;
        let mut said = Ok(());
        let announce = |address: SocketAddr| {
            let line = serde_json::json!({ "listening": address });
            said = terminal::say_data(&line.to_string());
        };
        gatebench_gateway::splice(self.listen, self.target, None, &stop, announce)?;
        said.map(|()| Exit::Fine)
    }
}
