//! `gatebench gateway FILE`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_gateway::{ConfigErrors, GatewayConfig, GatewayError, serve};

use super::words::{BackendWord, Cores, innermost};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

/// Serves the reference gateway with a configuration, until Ctrl-C
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench gateway gateway.json\n  gatebench gateway gateway.json --check\n\n\
                  An instrument, not a product: it has no admin interface and reads its file once."
)]
pub struct Gateway {
    /// Its configuration, JSON
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
        let config = self.read()?;
        if self.check {
            terminal::say(&format!("{} is right", self.file.display()))?;
            return Ok(Exit::Fine);
        }
        let cores = self.cores.clone().unwrap_or_default().0;
        let stop = signals::stop_flag()?;
        let mut said = Ok(());
        serve(
            &config,
            &cores,
            self.backend.map(Into::into),
            stop,
            |bound| said = announce(bound),
        )
        .map_err(|error| match error {
            GatewayError::Config(errors) => mistakes(&self.file, &errors),
            error => Failure::sentence(&innermost(&error), Exit::Environment),
        })?;
        said.map(|()| Exit::Fine)
    }

    fn read(&self) -> Result<GatewayConfig, Failure> {
        let text = fs::read_to_string(&self.file).map_err(|error| {
            let what = format!("the configuration cannot be read: {error}");
            Failure::words(
                &self.file.display().to_string(),
                what,
                "check the path and its permissions",
            )
        })?;
        GatewayConfig::from_json(&text).map_err(|errors| mistakes(&self.file, &errors))
    }
}

fn mistakes(file: &Path, errors: &ConfigErrors) -> Failure {
    Failure::words(
        &file.display().to_string(),
        format!("the configuration has mistakes\n{errors}"),
        "correct the places named; `gatebench schema reference-gateway` describes the file",
    )
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
