//! The flags of `gatebench load`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gatebench_engine::ProxyProtocol;
use gatebench_model::load::{Spread, Think};
use gatebench_model::{Bound, Bounds, Check, HumanDuration};
use gatebench_net::tls::Version;

use super::results::NO_PROTOCOL;
use super::values::check;
use super::values::data::PickWord;
use super::values::number::whole;
use super::values::resolve::Resolve;
use super::values::stage::{self, Stage};
use crate::commands::values::{BackendWord, Cores};

/// How much is sent, and when.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct ShapeFlags {
    /// Connections, each with one request in flight [default: 50]; with --rate those that requests are
    /// sent on, all of them opened first [default: one second's arrivals, at least 64 and at most 1000,
    /// divided by --streams]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(1..=1_000_000))]
    pub connections: Option<u32>,
    /// How long is measured [default: 10s; with --stage as long as the stages take]
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<HumanDuration>,
    /// Send so many requests, all of them measured; -d is then the most it may take
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub requests: Option<u64>,
    /// The same load before the measurement, not counted [default: 1s; with -n none]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<HumanDuration>,
    /// Requests per second, sent on a schedule whether answers come or not; latency counts from when
    /// each was due
    #[arg(short, long, value_name = "PER-SECOND", value_parser = rate)]
    pub rate: Option<f64>,
    /// The rate at the end, reached linearly
    #[arg(long, value_name = "PER-SECOND", requires = "rate", value_parser = rate, conflicts_with = "stages")]
    pub ramp_to: Option<f64>,
    /// Go to this number of connections in this time; with --rate to this rate, and with :step to it at
    /// once (repeatable)
    #[arg(long = "stage", value_name = "TARGET:TIME")]
    pub stages: Vec<Stage>,
    /// How arrivals are spread: evenly, or as those of many people who know nothing of each other
    #[arg(long, requires = "rate", default_value = "uniform")]
    pub arrivals: SpreadWord,
    /// Arrivals that may wait for a connection; those beyond are dropped and counted
    #[arg(long, value_name = "N", requires = "rate", default_value = "100000", value_parser = whole::<u32>(0..=u64::from(u32::MAX)))]
    pub queue_max: u32,
    /// Pause after each answer: 100ms, 50ms-150ms, or exp:100ms (exponential with that mean)
    #[arg(long, value_name = "TIME", conflicts_with = "rate", value_parser = stage::think)]
    pub think: Option<Think>,
    /// A request without an answer after this long has failed; that long counts as its latency
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: HumanDuration,
}

fn rate(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok();
    found
        .filter(|rate| (0.001..=1e8).contains(rate))
        .ok_or_else(|| format!("'{text}' is no rate: write requests per second, as in 2000 or 0.5"))
}

/// How arrivals are spread, as the command line calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpreadWord {
    /// Evenly.
    Uniform,
    /// A Poisson process.
    Poisson,
}

impl From<SpreadWord> for Spread {
    fn from(word: SpreadWord) -> Self {
        match word {
            SpreadWord::Uniform => Self::Uniform,
            SpreadWord::Poisson => Self::Poisson,
        }
    }
}

/// What is sent, and what must come back.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub struct RequestFlags {
    /// The method [default: GET; with a body POST]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = method)]
    pub method: Option<String>,
    /// A header (repeatable). Besides them only Host and what frames the body are sent
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// The body: text, @FILE, or @- for standard input
    #[arg(long, visible_alias = "data", value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    /// Values for {{NAME.COLUMN}} in path, headers and body, NAME being the file's: users.csv or
    /// users.jsonl (repeatable). Braces that mean themselves are written {{ "{{" }}
    #[arg(long = "data-file", value_name = "FILE")]
    pub data_files: Vec<PathBuf>,
    /// Which row of the data files each request gets
    #[arg(long, requires = "data_files", default_value = "in-turn")]
    pub pick: PickWord,
    /// Send these paths to the URL's host, one a line, each with or without a weight: '3 /search?q=a'
    #[arg(long, value_name = "FILE")]
    pub path_file: Option<PathBuf>,
    /// Authorization: Basic
    #[arg(short = 'u', long, value_name = "NAME:PASSWORD", value_parser = user)]
    pub user: Option<String>,
    /// What each answer must be: status=200, header:NAME=VALUE, body=TEXT, contains=TEXT, bytes=N or
    /// json:/pointer=VALUE (repeatable). Without, any status below 400 is good
    #[arg(long = "check", value_name = "CHECK", value_parser = check::parse)]
    pub checks: Vec<Check>,
    /// Bounds the load must keep, as in 'p99<10ms, errors<=0.1%', 'rate>1000', 'checks>99.9%'
    /// (repeatable). Figures: mean, min, max, p50 to p99.999 (also after service. or lateness.),
    /// rate, requests, errors, checks, dropped, 2xx, 3xx, 4xx, 5xx
    #[arg(long = "threshold", visible_alias = "slo", value_name = "BOUNDS")]
    pub thresholds: Vec<Bounds>,
}

impl RequestFlags {
    /// All bounds of the load, in their order.
    pub fn bounds(&self) -> impl Iterator<Item = &Bound> {
        self.thresholds.iter().flat_map(|Bounds(bounds)| bounds)
    }
}

fn method(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase());
    fits.then(|| text.to_owned())
        .ok_or_else(|| "write it in upper-case letters, as in GET or POST".into())
}

fn user(text: &str) -> Result<String, String> {
    text.contains(':')
        .then(|| text.to_owned())
        .ok_or_else(|| "write NAME:PASSWORD".into())
}

/// How connections are made.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub struct ConnectionFlags {
    /// Speak HTTP/2: on https:// as ALPN agrees, on http:// with prior knowledge
    #[arg(long)]
    pub http2: bool,
    /// Requests in flight on each HTTP/2 connection, fewer where the server says so
    #[arg(long, value_name = "N", requires = "http2", default_value = "1", value_parser = whole::<u32>(1..=1_000_000))]
    pub streams: u32,
    /// Send no requests: each is a connection that is made, with a full TLS handshake, and closed.
    /// Resumed ones are measured with --requests-per-connection 1
    #[arg(long, conflicts_with_all = ["http2", "requests_per_connection", "connection_rate", "think",
        "method", "headers", "body", "data_files", "path_file", "user", "checks"])]
    pub handshakes: bool,
    /// Connect to this Unix socket; the URL gives the Host header and the path
    #[arg(long, value_name = "PATH", conflicts_with_all = ["resolve", "sources"])]
    pub unix_socket: Option<PathBuf>,
    /// Close a connection after so many requests and open it anew
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub requests_per_connection: Option<u64>,
    /// Connections opened per second at the start, instead of all at once
    #[arg(long, value_name = "PER-SECOND", value_parser = rate)]
    pub connection_rate: Option<f64>,
    /// Take this address for a host and port, as curl does (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub resolve: Vec<Resolve>,
    /// Connect from this local address; of several, in turn (repeatable)
    #[arg(long = "source", value_name = "ADDRESS")]
    pub sources: Vec<IpAddr>,
    /// Begin each connection with a PROXY header
    #[arg(long, value_name = "VERSION")]
    pub proxy_protocol: Option<ProxyWord>,
}

impl ConnectionFlags {
    /// What is spoken, as ALPN calls it; `none` where connections are only made.
    pub fn protocol(&self) -> &'static str {
        match (self.handshakes, self.http2) {
            (true, _) => NO_PROTOCOL,
            (_, true) => "h2",
            _ => "http/1.1",
        }
    }

    /// What is not the ordinary way, in words that begin with a comma.
    pub fn in_words(&self) -> String {
        let mut words = String::new();
        if self.http2 {
            words += &match self.streams {
                1 => ", HTTP/2".to_owned(),
                several => format!(", HTTP/2 with {several} streams each"),
            };
        }
        if self.handshakes {
            words += ", each a connection that is made and closed";
        }
        if let Some(path) = &self.unix_socket {
            words += &format!(", through {}", path.display());
        }
        words
    }
}

/// A version of the PROXY protocol, as the command line calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProxyWord {
    /// Text.
    V1,
    /// Binary.
    V2,
}

impl From<ProxyWord> for ProxyProtocol {
    fn from(word: ProxyWord) -> Self {
        match word {
            ProxyWord::V1 => Self::V1,
            ProxyWord::V2 => Self::V2,
        }
    }
}

/// TLS, for `https://`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsFlags {
    /// Accept any certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// Trust the authorities in this file, instead of the machine's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The certificate this client shows, with the chain behind it
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// The name asked for and looked for in the certificate, instead of the URL's host
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// A protocol to offer, the preferred first (repeatable); --http2 offers h2 by itself
    #[arg(long, value_name = "PROTOCOL", conflicts_with = "http2")]
    pub alpn: Vec<String>,
    /// Speak this version only [default: 1.3, or 1.2 where the server has no 1.3]
    #[arg(long = "tls", value_name = "1.2|1.3", value_parser = tls_version)]
    pub version: Option<Version>,
    /// Make a full handshake on every connection, as --handshakes does
    #[arg(long)]
    pub no_resumption: bool,
}

fn tls_version(text: &str) -> Result<Version, String> {
    Version::from_number(text).ok_or_else(|| "write 1.2 or 1.3".into())
}

impl TlsFlags {
    /// The first flag that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.insecure, "--insecure"),
            (self.cacert.is_some(), "--cacert"),
            (self.cert.is_some(), "--cert"),
            (self.sni.is_some(), "--sni"),
            (!self.alpn.is_empty(), "--alpn"),
            (self.version.is_some(), "--tls"),
            (self.no_resumption, "--no-resumption"),
        ];
        given
            .into_iter()
            .find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

/// How the engine works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineFlags {
    /// One worker is pinned to each of these cores; without, one worker runs that is not pinned
    #[arg(long, value_name = "0,1")]
    pub cores: Option<Cores>,
    /// The event loop; without, io_uring where the kernel grants it, else epoll
    #[arg(long)]
    pub backend: Option<BackendWord>,
    /// What random choices begin from: the same seed makes the same choices
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: u64,
}

impl EngineFlags {
    /// How many workers run: one for each core.
    pub fn workers(&self) -> u32 {
        let cores = self.cores.as_ref().map_or(0, |cores| cores.0.len());
        u32::try_from(cores).unwrap_or(u32::MAX).max(1)
    }
}

/// What is said.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Print the results as JSON, and nothing else on standard output
    #[arg(long)]
    pub json: bool,
    /// Write an HdrHistogram interval log (V2): response, service and lateness of every second
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<PathBuf>,
    /// Do not show how it goes
    #[arg(short, long)]
    pub quiet: bool,
}
