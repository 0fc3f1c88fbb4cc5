//! Benchmarks against peers: interleaved, pinned, as ratios with their spread.
//!
//! A machine that others share changes its speed from minute to minute. So every figure is the ratio
//! of runs of the same round, repeated, and what is printed is the median ratio with its range.

mod accuracy;
mod client;
mod engine;
mod files;
mod folder;
mod gateway;
mod known_truth;
mod memory;
mod programs;
mod scaling;
mod server;
mod settings;
mod spread;
mod tools;
mod upstream;

use std::path::Path;
use std::process::ExitCode;

use self::programs::Programs;

/// Core of the load tools.
const CLIENT_CORE: &str = "0";
/// Core of the servers.
const SERVER_CORE: &str = "1";

pub const HELP: &str = "\
Benchmarks (each builds what it needs in release mode; leave the machine alone meanwhile):
  cargo xtask bench engine [--cell get-64]... [--rounds 5] [--seconds 2] [--quick] [--markdown] [--list]
                          client CPU per request of the engine, beside a bare client and its peers
                          (`make peers` installs them); all cells take about 12 minutes
  cargo xtask bench accuracy [--cell stall]... [--quick] [--markdown] [--no-peers]
                          the engine's quantiles and counts against an upstream whose latency is known by
                          construction, beside what k6, oha and wrk say; all cells take about 15 minutes
  cargo xtask bench scaling [--rounds 5] [--seconds 2] [--connections 64]
                          what a second worker of the engine costs, beside two processes that share nothing
  cargo xtask bench gateway [--cell soap]... [--rounds 5] [--seconds 2] [--markdown] [--list]
                          CPU per request of the reference gateway: plain and with policies beside nginx, HAProxy
                          and Envoy, and with SOAP/XML beside the bare work of the libraries; about 12 minutes
  cargo xtask bench endurance [--minutes 10]
                          `gatebench soak` of scenario soap-5 on 100 routes that differ, recompiled every minute; fails
                          where an answer is wrong, the gateway ends, memory leaks or that cannot be told
  cargo xtask bench recompile [--minutes 10]
                          what it costs the traffic that 200 policy instances are compiled anew, and their memory;
                          fails where the 99th percentile rises by 2 ms, or that cannot be told
  cargo xtask bench known-truth [--comparisons 30] [--minutes 10] [--record 0] [--out known-truth]
                          how often `gatebench ab` is right about the reference gateway and about itself slowed by
                          5 %, in this number of comparisons of each; run it again to resume it, or with a higher
                          number to add comparisons. --record 40 records equal gateways in 40 blocks, from
                          which other cells are simulated
  cargo xtask bench upstream [--rounds 5] [--seconds 2] [--connections 64]
                          server CPU per request of `upstream ping`, beside nginx `return 200`
  cargo xtask bench memory [--minutes 10] [--connections 64] [--routes 1]
                          memory of the engine at full rate; fails where it grows";

/// Runs the benchmark named by the first word.
pub fn run(words: &[&str], root: &Path) -> ExitCode {
    let answer = match words {
        ["accuracy", rest @ ..] => accuracy::run(rest, root),
        ["known-truth", rest @ ..] => known_truth::run(rest, root).map(|()| ExitCode::SUCCESS),
        [name, rest @ ..] => named(name, rest, root).map(|()| ExitCode::SUCCESS),
        [] => Err(HELP.into()),
    };
    answer.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn named(name: &str, rest: &[&str], root: &Path) -> Result<(), String> {
    let settings = settings::parse(rest).map_err(|error| format!("{error}\n{HELP}"))?;
    match name {
        "engine" if settings.list => engine::list(),
        "engine" => engine::run(&settings, &Programs::build(root)?),
        "scaling" => scaling::run(&settings, &Programs::build(root)?),
        "gateway" if settings.list => gateway::list(),
        "gateway" => gateway::run(&settings, &Programs::build(root)?),
        "endurance" => gateway::endurance::run(&settings, &Programs::build(root)?),
        "recompile" => gateway::recompile::run(&settings, &Programs::build(root)?),
        "upstream" => upstream::run(&settings, &Programs::build(root)?),
        "memory" => memory::run(&settings, &Programs::build(root)?),
        other => Err(format!("there is no benchmark '{other}'\n{HELP}")),
    }
}
