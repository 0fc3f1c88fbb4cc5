//! Warnings, which do not stop a run.

use crate::outputs::Refusal;
use gatebench_report::format::counted;

/// The text of a warning states the problem and, in most cases, a remedy after a semicolon.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A gateway that only the suite or `all` names is not installed, and is omitted.
    #[error("gateway {gateway} is omitted: {reason}; {remedy}")]
    GatewayMissing {
        gateway: String,
        reason: String,
        remedy: String,
    },
    /// The project has not tested the gateway's folder with this version.
    #[error("{what}; `gatebench check gateway {gateway}` tests everything that the folder claims")]
    GatewayUnproven {
        gateway: String,
        /// The tested versions and the installed version, or the fact that no version was tested.
        what: String,
    },
    #[error("{}", sizes_missing(sizes, *cores, host.as_deref()))]
    SizesMissing {
        sizes: Vec<String>,
        cores: usize,
        /// The host that gateways run on; `None` for this machine.
        host: Option<String>,
    },
    /// Sizes of the suite are omitted, because no node of the cluster has room for their pods.
    #[error(
        "gateways of {} are left out: {said} Choose sizes with --gateway-cpus; all sizes of a run are on one node at the same time",
        sizes.join(" and ")
    )]
    SizesWithoutNode {
        sizes: Vec<String>,
        /// The scheduler's message, a sentence.
        said: String,
    },
    #[error(
        "the load '{load}' opens at most {most} connections instead of {asked}: {asked} connections need \
         {needed} file descriptors, but the limit is {allowed}; raise the limit (as root: ulimit -Hn {needed}; \
         LimitNOFILE={needed} for a service) to use all connections"
    )]
    ConnectionsFewer {
        load: String,
        /// The largest requested number of connections.
        asked: u32,
        /// The number of connections that replaces larger numbers.
        most: u32,
        /// The number of file descriptors that the requested connections require.
        needed: u64,
        /// The maximum number of file descriptors of a process.
        allowed: u64,
    },
    #[error("{refusal}; the run does not need this object")]
    ObjectRefused { refusal: String },
    #[error(
        "core {core} was {:.0} % busy before the run; stop the program that uses it, or expect wide intervals",
        busy * 100.0
    )]
    CoreBusy {
        core: usize,
        /// The core's busy share before the run, 0 to 1.
        busy: f64,
    },
    #[error(
        "{gateway} is limited to {limits} only by its cores, so it is never throttled: {why}; {remedy}"
    )]
    LimitsByCores {
        gateway: String,
        limits: String,
        why: String,
        remedy: &'static str,
    },
    #[error(
        "{file} is used with the ports, addresses and paths of a trial: {lines} changed; `--dry-run` shows the difference"
    )]
    ConfigChanged {
        file: String,
        /// The number of differing lines, as text.
        lines: String,
    },
    #[error(
        "gateway {gateway} has changed since the run began: {what}; start a new run for comparable results"
    )]
    GatewayChanged {
        gateway: String,
        /// The change, as in `version 1.26.0 instead of 1.24.0`.
        what: String,
    },
    #[error("{engine} {how}: {what}; to avoid this, use the built-in load generator")]
    ExternalGenerator {
        engine: String,
        how: &'static str,
        what: String,
    },
    #[error(
        "the specification '{specification}' starts no gateway, so --gateway has no effect; add the step \
         `start_gateway` to measure one"
    )]
    GatewaysUnused { specification: String },
    #[error(
        "the specification requests {asked} threads, but {engine} chooses its own number; use --engine \
         wrk to set it"
    )]
    ThreadsOfItsOwn { asked: u32, engine: String },
    #[error(
        "the conditions have changed since the run began: {what}; start a new run for comparable results"
    )]
    InstrumentChanged {
        /// The change, as in `backend epoll instead of io_uring`.
        what: String,
    },
    /// Gateways that are loaded side by side cannot be retried one at a time.
    #[error(
        "failed trials of gateways under the load '{load}' are not retried, because this load runs \
         against all gateways of a block side by side; choose a load without `side_by_side` \
         (--load) to retry them"
    )]
    RetriesUnused { load: String },
    #[error("{0}; {remedy}", remedy = .0.remedy)]
    Output(Refusal),
    #[error(
        "outputs receive nothing, because {engine} does not report figures per second; use the built-in load generator"
    )]
    OutputsWithoutRequests { engine: String },
    /// A problem that occurred in a trial but did not end the trial.
    #[error("trial {number}: {text}")]
    Trial {
        number: u32,
        /// The problem and, in most cases, the remedy.
        text: String,
    },
    #[error("trial {number} could not be stored: {reason}; {remedy}")]
    TrialLost {
        number: u32,
        reason: String,
        remedy: String,
    },
}

fn sizes_missing(sizes: &[String], cores: usize, host: Option<&str>) -> String {
    let there = match host {
        None => format!(
            "this machine has {} in total",
            counted(cores as u64, "core")
        ),
        Some(host) => format!("{host} has {}", counted(cores as u64, "core")),
    };
    format!(
        "gateways of {} are left out: {there}, which is too few, or it cannot enforce these CPU limits; use a larger machine, or choose other sizes with --gateway-cpus",
        sizes.join(" and ")
    )
}
