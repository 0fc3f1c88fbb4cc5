//! `gatebench gateway FILE`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gatebench_config::Diagnostics;
use gatebench_gateway::{ConfigErrors, Document, GatewayError};
use gatebench_net::Backend;

use super::values::{BACKENDS, Cores, one_of};
use crate::failure::Failure;
use crate::{signals, terminal};

/// Run the reference gateway with a configuration until Ctrl-C
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench gateway gateway.yaml\n  gatebench gateway gateway.yaml --check\n\n\
                  The reference gateway is an instrument, not a product: it has no admin \
                  interface. On SIGHUP it reloads its file without losing a request; an invalid \
                  file changes nothing. On SIGTERM or Ctrl-C it waits at most \
                  `timeouts.drain_ms` [default: 10000] for requests in flight to finish, then \
                  resets the remaining connections; a second signal stops it immediately.\n\n\
                  docs/REFERENCE-GATEWAY.md describes the gateway's policies, with examples."
)]
pub struct Gateway {
    /// The configuration file, in YAML or JSON
    file: PathBuf,
    /// Check the configuration and exit
    #[arg(long)]
    check: bool,
    /// Pin the workers to these cores in turn, for example 0,1 or 0-3 [default: not pinned]
    #[arg(long, value_name = "CORES")]
    cores: Option<Cores>,
    /// Use this event loop [default: io_uring if the kernel allows it, otherwise epoll]
    #[arg(long, value_parser = one_of(&BACKENDS))]
    backend: Option<Backend>,
}

impl Gateway {
    pub fn run(self) -> Result<(), Failure> {
        if self.check {
            read(&self.file, Document::check)?;
            return terminal::say(&format!("{} is valid", self.file.display()));
        }
        let document = read(&self.file, Document::read)?;
        let cores = self.cores.clone().unwrap_or_default().0;
        let wrong = |errors: ConfigErrors| mistakes(&document, &errors);
        let gateway = gatebench_gateway::Gateway::new(&document.config).map_err(wrong)?;
        let gateway = Arc::new(gateway.with_notices(terminal::complain));
        let (reloaded, file) = (Arc::clone(&gateway), self.file.clone());
        let drained = Arc::clone(&gateway);
        let on_first = move || {
            drained.drain();
            terminal::complain(
                "gateway is finishing requests in flight; a second signal stops it immediately",
            );
        };
        let stop = signals::second_stop_flag(on_first, move || reload(&reloaded, &file))?;
        let mut said = Ok(());
        let totals = gateway
            .serve(&cores, self.backend, stop, |bound| said = announce(bound))
            .map_err(|error| match error {
                GatewayError::Config(errors) => wrong(errors),
                GatewayError::Workers(error) => error.into(),
            })?;
        let aborted = match totals.cut_off {
            0 => return said,
            1 => "one connection was aborted".to_owned(),
            many => format!("{many} connections were aborted"),
        };
        terminal::complain(&format!(
            "gateway: {aborted}; raise `timeouts.drain_ms` to avoid this"
        ));
        said
    }
}

fn reload(gateway: &gatebench_gateway::Gateway, file: &Path) {
    let replaced = read(file, Document::read).and_then(|document| {
        gateway
            .replace(&document.config)
            .map_err(|errors| mistakes(&document, &errors))
    });
    match replaced {
        // A closed standard output must not stop the gateway.
        Ok(()) => drop(terminal::say("gateway has reloaded its file")),
        Err(failure) => failure.print(),
    }
}

fn read(
    file: &Path,
    way: impl FnOnce(&str, &str) -> Result<Document, Diagnostics>,
) -> Result<Document, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        let what = format!("cannot read the configuration: {error}");
        let help = "check the path and its permissions";
        Failure::words(file.display().to_string(), what, help)
    })?;
    way(&file.display().to_string(), &text).map_err(|mistakes| Failure::Mistakes(vec![mistakes]))
}

fn mistakes(document: &Document, errors: &ConfigErrors) -> Failure {
    Failure::Mistakes(document.mistakes(errors).into_iter().collect())
}

fn announce(bound: &[SocketAddr]) -> Result<(), Failure> {
    let addresses = bound.iter().map(|address| format!("http://{address}"));
    let addresses = Vec::from_iter(addresses).join(", ");
    terminal::say(&format!("gateway listens on {addresses} until Ctrl-C"))
}
