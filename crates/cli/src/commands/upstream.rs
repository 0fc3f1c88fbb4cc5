//! `gatebench upstream KIND`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gatebench_net::Backend;
use gatebench_net::tls::{Identity, Pem, ServerSettings, SettingsError, self_signed};
use gatebench_upstream::{Kind, UpstreamConfig, UpstreamError, serve};

use super::values::{BACKENDS, Cores, one_of};
use crate::failure::Failure;
use crate::{signals, terminal};

const EXAMPLES: &str = "\
Examples:
  gatebench upstream ping --listen 127.0.0.1:8080
  gatebench upstream go-bench --listen '[::1]:0' --cores 0,1
  gatebench upstream ping --listen 127.0.0.1:8443 --tls";
const PATHS_INDENT: usize = 20;

/// Run an embedded upstream until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = paths_and_examples())]
pub struct Upstream {
    /// The upstream to run
    #[arg(value_parser = kind_parser())]
    kind: Kind,
    /// Listen on this address; port 0 chooses a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Run one worker on each of these cores, for example 0,1 or 0-3 [default: one worker, not
    /// pinned]
    #[arg(long, value_name = "CORES")]
    cores: Option<Cores>,
    /// Use this event loop [default: io_uring if the kernel allows it, otherwise epoll]
    #[arg(long, value_parser = one_of(&BACKENDS))]
    backend: Option<Backend>,
    /// Print the address as a line of JSON, which is the default if standard output is not a
    /// terminal
    #[arg(long)]
    json: bool,
    /// Recognize repeated requests in up to N streams; in each load, each worker of the load
    /// generator is one stream
    #[arg(long, value_name = "N", default_value_t = gatebench_upstream::STREAMS)]
    streams: usize,
    #[command(flatten)]
    tls: Tls,
}

/// The TLS options.
#[derive(Debug, Args)]
struct Tls {
    /// Use TLS 1.2 and 1.3, with a self-signed certificate unless --cert is given
    #[arg(long)]
    tls: bool,
    /// Present the certificate in this file, followed by its chain, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of --cert, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls", requires = "cert")]
    key: Option<PathBuf>,
    /// Require client certificates signed by a CA in this file, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls")]
    client_ca: Option<PathBuf>,
}

impl Tls {
    fn settings(&self, listen: SocketAddr) -> Result<Option<ServerSettings>, SettingsError> {
        if !self.tls {
            return Ok(None);
        }
        let identity = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Identity {
                chain: Pem::read(cert)?,
                key: Pem::read(key)?,
            },
            _ => self_signed(&["localhost", &listen.ip().to_string()])?,
        };
        let mut settings = ServerSettings::new(identity);
        settings.client_ca = self.client_ca.as_deref().map(Pem::read).transpose()?;
        Ok(Some(settings))
    }

    /// Returns the option that makes curl accept the certificate, followed by a space.
    fn curl_option(&self) -> String {
        match &self.cert {
            None => "--insecure ".to_owned(),
            Some(cert) => format!("--cacert {} ", cert.display()),
        }
    }
}

fn paths_and_examples() -> String {
    let paths = Kind::NAMES.map(|(name, kind)| {
        let paths = terminal::column(kind.paths(), terminal::WIDTH, PATHS_INDENT);
        format!("  {name:<width$}{paths}\n", width = PATHS_INDENT - 2)
    });
    format!("Paths:\n{}\n{EXAMPLES}", paths.concat())
}

fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::NAMES.map(|(name, _)| name))
        .try_map(|word| Kind::from_name(&word).ok_or("unknown upstream"))
}

impl Upstream {
    pub fn run(self) -> Result<(), Failure> {
        let wrong = |error: SettingsError| {
            let place = error.place();
            Failure::words(
                place.as_deref().unwrap_or("TLS"),
                error.what(),
                error.remedy(),
            )
        };
        let tls = self.tls.settings(self.listen).map_err(wrong)?;
        let chain = tls.as_ref().map(|tls| tls.identity.chain.clone());
        let config = UpstreamConfig {
            kind: self.kind,
            listen: self.listen,
            cores: self.cores.clone().unwrap_or_default().0,
            backend: self.backend,
            tls,
            streams: self.streams,
        };
        let mut said = Ok(());
        let stop = signals::stop_flag()?;
        let on_listening = |address| said = self.announce(address, chain.as_ref());
        serve(config, stop, on_listening).map_err(|error| match error {
            UpstreamError::Tls(error) => wrong(error),
            UpstreamError::Workers(error) => error.into(),
        })?;
        said
    }

    /// Prints the address. The JSON form also has the certificate, if there is TLS.
    fn announce(&self, address: SocketAddr, chain: Option<&Pem>) -> Result<(), Failure> {
        if self.json || !terminal::stdout_is_terminal() {
            let mut line = serde_json::json!({ "listening": address });
            if let Some(chain) = chain {
                line["certificate"] = String::from_utf8_lossy(&chain.bytes).into();
            }
            return terminal::say_data(&line.to_string());
        }
        let (scheme, option) = match chain {
            Some(_) => ("https", self.tls.curl_option()),
            None => ("http", String::new()),
        };
        terminal::say(&format!(
            "upstream {} listens on {scheme}://{address} until Ctrl-C; try: curl {option}{scheme}://{address}{}",
            self.kind.name(),
            example_path(self.kind)
        ))
    }
}

fn example_path(kind: Kind) -> &'static str {
    match kind {
        Kind::Ping => "/ping",
        Kind::GoBench => "/json/valid",
        Kind::Httpbin => "/anything",
        Kind::Calculator(_) => "/ws/calculator.wsdl",
        Kind::Any => "/",
        Kind::Pathology => "/stall",
    }
}
