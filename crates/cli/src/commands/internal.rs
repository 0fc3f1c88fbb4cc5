//! Commands that only gatebench itself starts.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use gatebench_agent::Agent;
use gatebench_testbed::remote;

use super::values::launcher;
use crate::failure::Failure;
use crate::{signals, terminal};

/// Run a command, and end it with all its descendants when gatebench ends
#[derive(Debug, Args)]
pub struct Supervise {
    /// Settings, `--`, and the command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Supervise {
    pub fn run(self) -> ExitCode {
        gatebench_testbed::supervise(self.words)
    }
}

/// Run the null gateway, which copies bytes between clients and a target, until Ctrl-C
#[derive(Debug, Args)]
pub struct Splice {
    /// The address that clients connect to
    listen: SocketAddr,
    /// The address of the target
    target: SocketAddr,
}

impl Splice {
    pub fn run(self) -> Result<(), Failure> {
        let stop = signals::stop_flag()?;
        let mut said = Ok(());
        let announce = |address: SocketAddr| {
            let line = serde_json::json!({ "listening": address });
            said = terminal::say_data(&line.to_string());
        };
        gatebench_gateway::splice(self.listen, self.target, None, &stop, announce)?;
        said
    }
}

/// Start gateways, upstreams and load generators here for gatebench on another host
#[derive(Debug, Args)]
pub struct RemoteEnd {
    /// Copy lines between a `kubectl exec` and the process that outlives it
    #[arg(long)]
    line: bool,
    /// Reconnect to the process that an earlier connection started, instead of starting one
    #[arg(long, requires = "line")]
    further: bool,
    /// Act as the process that outlives a `kubectl exec`
    #[arg(long, conflicts_with = "line")]
    hold: bool,
}

impl RemoteEnd {
    pub fn run(self) -> Result<(), Failure> {
        let launcher = launcher()?;
        let served = match (self.line, self.hold) {
            (true, _) => remote::relay(&launcher, self.further),
            (_, true) => remote::hold(&launcher),
            _ => remote::serve(launcher, Agent::default()),
        };
        served.map_err(|error| {
            let remedy = "do not run this by hand: `gatebench run --gateway-on USER@HOST` starts it over ssh";
            Failure::environment(error.to_string(), remedy)
        })
    }
}
