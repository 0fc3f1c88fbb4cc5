//! `gatebench gateway FILE`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gatebench_config::Diagnostics;
use gatebench_gateway::{ConfigErrors, Document, GatewayError};

use super::values::{BackendWord, Cores};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

/// Serves the reference gateway with a configuration, until Ctrl-C
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench gateway gateway.yaml\n  gatebench gateway gateway.yaml --check\n\n\
                  An instrument, not a product: it has no admin interface. SIGHUP makes it read its file again, \
                  without losing a request; a file with mistakes changes nothing. SIGTERM and Ctrl-C make it finish what is \
                  under way (`timeouts.drain_ms`, 10 s); a second one ends it at once.\n\n\
                  Its policies, with examples: docs/REFERENCE-GATEWAY.md"
)]
pub struct Gateway {
    /// Its configuration: YAML, or JSON
    file: PathBuf,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    /// Cores its workers are pinned to, in turn; without, they are not pinned
    #[arg(long, value_name = "0,1")]
    cores: Option<Cores>,
    /// The event loop; without, io_uring where the kernel grants it, else epoll
    #[arg(long)]
    backend: Option<BackendWord>,
}

impl Gateway {
    /// Serves until a signal comes.
    pub fn run(self) -> Result<Exit, Failure> {
        if self.check {
            read(&self.file, Document::check)?;
            terminal::say(&format!("{} is right", self.file.display()))?;
            return Ok(Exit::Fine);
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
                "gateway finishes what is under way; a second signal ends it at once",
            );
        };
        let stop = signals::stop_flag_beside(on_first, move || reload(&reloaded, &file))?;
        let mut said = Ok(());
        let backend = self.backend.map(Into::into);
        let totals = gateway
            .serve(&cores, backend, stop, |bound| said = announce(bound))
            .map_err(|error| match error {
                GatewayError::Config(errors) => wrong(errors),
                GatewayError::Workers(error) => error.into(),
            })?;
        if totals.cut_off > 0 {
            terminal::complain(&format!(
                "gateway: {} connections were broken off; raise `timeouts.drain_ms` where they need longer",
                totals.cut_off
            ));
        }
        said.map(|()| Exit::Fine)
    }
}

/// Goes by the file as it is now, and says what came of it.
fn reload(gateway: &gatebench_gateway::Gateway, file: &Path) {
    let replaced = read(file, Document::read).and_then(|document| {
        gateway
            .replace(&document.config)
            .map_err(|errors| mistakes(&document, &errors))
    });
    match replaced {
        // A reader of standard output that has gone is no reason to stop serving.
        Ok(()) => drop(terminal::say("gateway goes by its file as it is now")),
        Err(failure) => failure.print(),
    }
}

/// Reads a file in one of the two ways.
fn read(
    file: &Path,
    way: impl FnOnce(&str, &str) -> Result<Document, Diagnostics>,
) -> Result<Document, Failure> {
    let text = fs::read_to_string(file).map_err(|error| {
        let what = format!("the configuration cannot be read: {error}");
        let help = "check the path and its permissions";
        Failure::words(&file.display().to_string(), what, help)
    })?;
    way(&file.display().to_string(), &text).map_err(|mistakes| Failure::Mistakes(vec![mistakes]))
}

fn mistakes(document: &Document, errors: &ConfigErrors) -> Failure {
    Failure::Mistakes(document.mistakes(errors).into_iter().collect())
}

fn announce(bound: &[SocketAddr]) -> Result<(), Failure> {
    let addresses: Vec<String> = bound
        .iter()
        .map(|address| format!("http://{address}"))
        .collect();
    terminal::say(&format!(
        "gateway listens on {} until Ctrl-C",
        addresses.join(", ")
    ))
}
