//! The flags of `gatebench load`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use gatebench_engine::ProxyProtocol;
use gatebench_model::data::Pick;
use gatebench_model::load::{Spread, Think};
use gatebench_model::{Bound, Bounds, Check, HumanDuration, Place};
use gatebench_net::Backend;
use gatebench_net::tls::Version;

use super::results::NO_PROTOCOL;
use super::values::check;
use super::values::data::PICKS;
use super::values::resolve::Resolve;
use super::values::stage::{self, Stage};
use super::values::whole;
use crate::commands::values::{BACKENDS, Cores, Named, SPREADS, one_of, rate};
use crate::reports::ReportFile;

/// The number of requests and their schedule.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct ShapeFlags {
    /// Open N connections, each with one request in flight or, with --http2, up to --streams
    /// [default: 50, or the number in -n if it is lower]; with --rate, open all of them before the
    /// first request [default: the number of arrivals in one second, at least 64 and at most 1000,
    /// divided by --streams]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>(1..=1_000_000))]
    pub connections: Option<u32>,
    /// Measure for this long [default: 10s; with --stage, the duration of all stages; with -n, 24h]
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<HumanDuration>,
    /// Stop after N requests, all of them measured; -d is then the time limit
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub requests: Option<u64>,
    /// Send the load for this long before the measurement begins [default: 1s; with -n, none]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<HumanDuration>,
    /// Send requests at this rate, whether or not responses arrive; latency counts from the time
    /// when each request was due
    #[arg(short, long, value_name = "PER-SECOND", value_parser = rate)]
    pub rate: Option<f64>,
    /// Change the rate linearly to reach this value at the end
    #[arg(long, value_name = "PER-SECOND", requires = "rate", value_parser = rate, conflicts_with = "stages")]
    pub ramp_to: Option<f64>,
    /// Change the number of connections to TARGET over TIME; with --rate, change the rate. With
    /// :step, change it at once and keep it for TIME (repeatable)
    #[arg(long = "stage", value_name = "TARGET:TIME")]
    pub stages: Vec<Stage>,
    /// Space the arrivals evenly, or randomly, like requests from many independent users
    #[arg(long, requires = "rate", default_value = "uniform", value_parser = one_of(&SPREADS))]
    pub arrivals: Spread,
    /// Queue at most N arrivals while no connection is free; drop and count the others
    #[arg(long, value_name = "N", requires = "rate", default_value = "100000", value_parser = whole::<u32>(0..=u64::from(u32::MAX)))]
    pub queue_max: u32,
    /// Pause after each response: 100ms, 50ms-150ms, or exp:100ms (exponential with this mean)
    #[arg(long, value_name = "TIME", conflicts_with = "rate", value_parser = stage::think)]
    pub think: Option<Think>,
    /// Fail a request that has no response after this time; the timeout counts as its latency
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: HumanDuration,
}

/// The requests, and the checks on their responses.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub struct RequestFlags {
    /// Use this request method [default: GET; with a body, POST]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = method)]
    pub method: Option<String>,
    /// Send this header (repeatable). A Host header replaces the one derived from the URL; the
    /// headers that frame the body cannot be set
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Send this body: text, @FILE, or @- for standard input
    #[arg(long, visible_alias = "data", value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    /// Fill {{NAME.COLUMN}} in path, headers and body from this file, for example users.csv or
    /// users.jsonl, where NAME is the name of the file without its extension (repeatable). Write
    /// {{ "{{" }} for literal braces
    #[arg(long = "data-file", value_name = "FILE")]
    pub data_files: Vec<PathBuf>,
    /// Choose the row of a data file for each request in this way
    #[arg(long, requires = "data_files", default_value = "in-turn", value_parser = one_of(&PICKS))]
    pub pick: Pick,
    /// Request the paths in this file from the host of the URL: one per line, optionally with a
    /// weight, for example '3 /search?q=a'
    #[arg(long, value_name = "FILE")]
    pub path_file: Option<PathBuf>,
    /// Send these credentials as Authorization: Basic
    #[arg(short = 'u', long, value_name = "NAME:PASSWORD", value_parser = user)]
    pub user: Option<String>,
    /// Require this of each response: status=200, header:NAME=VALUE, body=TEXT, contains=TEXT,
    /// bytes=N or json:/pointer=VALUE (repeatable) [default: any status from 200 to 399]
    #[arg(long = "check", value_name = "CHECK", value_parser = check::parse)]
    pub checks: Vec<Check>,
    /// Fail unless the load meets these bounds, for example 'p99<10ms, errors<=0.1%', 'rate>1000',
    /// 'checks>99.9%' (repeatable). Metrics: mean, min, max and percentiles such as p99.9 (all of
    /// these also with the prefix 'service.' or 'lateness.'), rate, requests, errors, checks,
    /// dropped, 2xx, 3xx, 4xx, 5xx
    #[arg(long = "threshold", visible_alias = "slo", value_name = "BOUNDS")]
    pub thresholds: Vec<Bounds>,
}

impl RequestFlags {
    pub fn bounds(&self) -> impl Iterator<Item = &Bound> {
        self.thresholds.iter().flat_map(|Bounds(bounds)| bounds)
    }
}

fn method(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase());
    fits.then(|| text.to_owned())
        .ok_or_else(|| "write uppercase letters, for example GET or POST".into())
}

fn user(text: &str) -> Result<String, String> {
    text.contains(':')
        .then(|| text.to_owned())
        .ok_or_else(|| "write NAME:PASSWORD".into())
}

/// The protocol, the lifetime and the addresses of the connections.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub struct ConnectionFlags {
    /// Use HTTP/2: negotiated by ALPN on https://, with prior knowledge on http://
    #[arg(long)]
    pub http2: bool,
    /// Keep up to N requests in flight on each HTTP/2 connection; the server can lower this limit
    #[arg(long, value_name = "N", requires = "http2", default_value = "1", value_parser = whole::<u32>(1..=1_000_000))]
    pub streams: u32,
    /// Send no requests: open each connection, with a full TLS handshake on https://, and close it.
    /// To measure resumed handshakes, use --requests-per-connection 1 instead
    #[arg(long, conflicts_with_all = ["http2", "requests_per_connection", "connection_rate", "think",
        "method", "headers", "body", "data_files", "path_file", "user", "checks"])]
    pub handshakes: bool,
    /// Connect to this Unix socket; the URL determines the Host header and the path
    #[arg(long, value_name = "PATH", conflicts_with_all = ["resolve", "sources"])]
    pub unix_socket: Option<PathBuf>,
    /// Close each connection after N requests and open a new one
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    pub requests_per_connection: Option<u64>,
    /// Open this many connections per second at the start [default: all at once]
    #[arg(long, value_name = "PER-SECOND", value_parser = rate)]
    pub connection_rate: Option<f64>,
    /// Use this address for a host and port, like curl's --resolve (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub resolve: Vec<Resolve>,
    /// Connect from this local address; several are used in turn (repeatable)
    #[arg(long = "source", value_name = "ADDRESS")]
    pub sources: Vec<IpAddr>,
    /// Begin each connection with a PROXY protocol header
    #[arg(long, value_name = "VERSION", value_parser = one_of(&PROXIES))]
    pub proxy_protocol: Option<ProxyProtocol>,
}

impl ConnectionFlags {
    /// Returns the ALPN name of the protocol, or `none` if the load only opens connections.
    pub fn protocol(&self) -> &'static str {
        match (self.handshakes, self.http2) {
            (true, _) => NO_PROTOCOL,
            (_, true) => "h2",
            _ => "http/1.1",
        }
    }

    /// Describes the differences from plain HTTP/1.1, each preceded by a comma.
    pub fn in_words(&self) -> String {
        let mut words = String::new();
        if self.http2 {
            words += &match self.streams {
                1 => ", HTTP/2".to_owned(),
                several => format!(", HTTP/2 with {several} streams each"),
            };
        }
        if self.handshakes {
            words += ", opening and closing connections only";
        }
        if let Some(path) = &self.unix_socket {
            words += &format!(", through {}", path.display());
        }
        words
    }
}

const PROXIES: [Named<ProxyProtocol>; 2] = [
    ("v1", "The text format", ProxyProtocol::V1),
    ("v2", "The binary format", ProxyProtocol::V2),
];

/// The TLS settings for `https://`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsFlags {
    /// Accept any certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// Trust the certificate authorities in this file [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Present this client certificate, followed by its chain
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The private key of --cert
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Send this server name, and expect it in the certificate [default: the host of the URL]
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// Offer this protocol in ALPN (repeatable, in order of preference); --http2 already offers h2
    #[arg(long, value_name = "PROTOCOL", conflicts_with = "http2")]
    pub alpn: Vec<String>,
    /// Use only this TLS version [default: 1.3, or 1.2 if the server does not support 1.3]
    #[arg(long = "tls", value_name = "1.2|1.3", value_parser = tls_version)]
    pub version: Option<Version>,
    /// Make a full handshake on every connection; --handshakes implies this
    #[arg(long)]
    pub no_resumption: bool,
}

fn tls_version(text: &str) -> Result<Version, String> {
    Version::from_number(text).ok_or_else(|| "write 1.2 or 1.3".into())
}

impl TlsFlags {
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

/// The cores, the event loop and the machines of the load generator.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load generator")]
pub struct EngineFlags {
    /// Run one worker on each of these cores, for example 0,1 or 0-3 [default: one worker, not
    /// pinned]
    #[arg(long, value_name = "CORES")]
    pub cores: Option<Cores>,
    /// Use this event loop [default: io_uring if the kernel allows it, otherwise epoll]
    #[arg(long, value_parser = one_of(&BACKENDS))]
    pub backend: Option<Backend>,
    /// Seed for all random choices
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: u64,
    /// Send the load from these machines, a comma-separated list of `here` and ssh destinations
    /// such as me@a. Without --cores, each machine uses all of its cores
    #[arg(long, value_name = "PLACES", value_delimiter = ',')]
    pub agents: Vec<Place>,
}

impl EngineFlags {
    pub fn workers(&self) -> u32 {
        let cores = self.cores.as_ref().map_or(0, |cores| cores.0.len());
        u32::try_from(cores).unwrap_or(u32::MAX).max(1)
    }
}

/// The printed results and the files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Print the results as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Write an HdrHistogram interval log (V2) with the response times, service times and lateness
    /// of each second
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<PathBuf>,
    /// Write a report to this file; the extension selects the format: html, md, json, csv, xml
    /// (JUnit) or txt (repeatable)
    #[arg(long = "report", value_name = "FILE", value_parser = ReportFile::of)]
    pub reports: Vec<ReportFile>,
    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}
