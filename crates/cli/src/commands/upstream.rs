//! `gatebench upstream KIND`.

use std::net::SocketAddr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatebench_upstream::{Kind, UpstreamConfig, serve};

use super::words::{BackendWord, Cores, innermost};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

/// Serves an embedded upstream on its own, until Ctrl-C
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gatebench upstream ping --listen 127.0.0.1:8080\n  \
                        gatebench upstream go-bench --listen '[::1]:0' --cores 0,1"
)]
pub struct Upstream {
    /// Which one
    #[arg(value_parser = kind_parser())]
    kind: Kind,
    /// Where it listens; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// One worker is pinned to each of these cores; without, one worker runs that is not pinned
    #[arg(long, value_name = "0,1")]
    cores: Option<Cores>,
    /// The event loop; without, io_uring where the kernel grants it, else epoll
    #[arg(long)]
    backend: Option<BackendWord>,
    /// Print where it listens as one line of JSON, as is done where standard output is no terminal
    #[arg(long)]
    json: bool,
}

fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::NAMES.map(|(name, _)| name))
        .try_map(|word| Kind::from_name(&word).ok_or("there is no such upstream"))
}

impl Upstream {
    /// Serves until a signal comes.
    pub fn run(self) -> Result<Exit, Failure> {
        let config = UpstreamConfig {
            kind: self.kind,
            listen: self.listen,
            cores: self.cores.clone().unwrap_or_default().0,
            backend: self.backend.map(Into::into),
        };
        let mut said = Ok(());
        let stop = signals::stop_flag()?;
        serve(config, stop, |address| said = self.announce(address))
            .map_err(|error| Failure::sentence(&innermost(&error), Exit::Environment))?;
        said.map(|()| Exit::Fine)
    }

    fn announce(&self, address: SocketAddr) -> Result<(), Failure> {
        if self.json || !terminal::stdout_is_terminal() {
            return terminal::say(&serde_json::json!({ "listening": address }).to_string());
        }
        terminal::say(&format!(
            "upstream {} listens on http://{address} until Ctrl-C; try: curl http://{address}{}",
            self.kind.name(),
            example_path(self.kind)
        ))
    }
}

/// A path that every kind answers in its own way.
fn example_path(kind: Kind) -> &'static str {
    match kind {
        Kind::Ping => "/ping",
        Kind::GoBench => "/json/valid",
        Kind::Httpbin => "/anything",
        Kind::Pathology => "/stall",
    }
}
