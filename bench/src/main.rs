//! The benchmarks of the project: `cargo xtask bench NAME`. Some compare the load generator, the
//! reference gateway or the upstream with other programs. The others measure properties of
//! gatebench, such as its accuracy and its use of memory.
//!
//! The speed of a shared machine changes from minute to minute. Programs that are compared
//! therefore run in turn in each round, and most benchmarks print the median and the range of the
//! rounds' ratios.

mod accuracy;
mod client;
mod engine;
mod files;
mod folder;
mod gateway;
mod known_truth;
mod memory;
mod observed;
mod programs;
mod scaling;
mod server;
mod settings;
mod spread;
mod table;
mod tools;
mod upstream;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::programs::Programs;
use self::settings::Settings;

const CLIENT_CORE: &str = "0";
const SERVER_CORE: &str = "1";
const CORES: [usize; 2] = [0, 1];

/// Runs the project's benchmarks. Each builds its programs first; do not use the machine while a
/// benchmark runs
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench")]
struct Words {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Measures the engine's CPU per request, compared with a bare client and external load
    /// generators (`make external` installs them); all cells take about 12 minutes
    Engine(Settings),
    /// Compares the engine's quantiles and counts with the true values of an upstream whose latency
    /// is known by construction, and with those of oha, k6, wrk2 and wrk; all cells take about 15
    /// minutes
    Accuracy(accuracy::Options),
    /// Measures the cost of the engine's second worker, compared with two processes that share
    /// nothing
    Scaling(Settings),
    /// Measures the reference gateway's CPU per request: as a plain proxy and with policies
    /// (compared with other gateways), and with SOAP/XML (compared with the bare work of the
    /// libraries); all cells take about 12 minutes
    Gateway(Settings),
    /// Runs `gatebench soak` of scenario soap-5 on 100 different routes, recompiled every minute;
    /// fails if a response is wrong, the gateway ends, or memory leaks or might leak
    Endurance(Settings),
    /// Measures how much recompiling 200 policy instances slows down traffic, and how much memory
    /// an instance takes; fails if a request is lost, or if the 99th percentile rises by 2 ms or
    /// might do so
    Recompile(Settings),
    /// Counts the correct verdicts of `gatebench ab` on the reference gateway against itself and
    /// against itself slowed by 5 %; repeat the command to resume an interrupted benchmark, or use
    /// a higher `--comparisons` to add comparisons
    KnownTruth(known_truth::Plan),
    /// Measures the server CPU per request of `upstream ping`, compared with nginx `return 200`
    Upstream(Settings),
    /// Measures how much a run's page, open in three tabs, and two outputs change the run's
    /// figures; needs nginx and, by default, about an hour
    Observed(Settings),
    /// Measures the engine's memory at full rate; fails if it grows by more than 1 MiB plus 4 KiB
    /// per route
    Memory(Settings),
}

fn main() -> ExitCode {
    run(Words::parse().benchmark, root()).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn run(benchmark: Benchmark, root: &Path) -> Result<ExitCode, String> {
    let measure = |run: fn(&Settings, &Programs) -> Result<(), String>, settings: Settings| {
        run(&settings.settled(), &Programs::build(root)?)
    };
    let done = match benchmark {
        Benchmark::Accuracy(options) => return accuracy::run(&options, root),
        Benchmark::KnownTruth(plan) => known_truth::run(&plan, root),
        Benchmark::Engine(settings) if settings.list => engine::list(),
        Benchmark::Engine(settings) => measure(engine::run, settings),
        Benchmark::Scaling(settings) => measure(scaling::run, settings),
        Benchmark::Gateway(settings) if settings.list => gateway::list(),
        Benchmark::Gateway(settings) => measure(gateway::run, settings),
        Benchmark::Endurance(settings) => measure(gateway::endurance::run, settings),
        Benchmark::Recompile(settings) => measure(gateway::recompile::run, settings),
        Benchmark::Upstream(settings) => measure(upstream::run, settings),
        Benchmark::Observed(settings) => measure(observed::run, settings),
        Benchmark::Memory(settings) => measure(memory::run, settings),
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn root() -> &'static Path {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().unwrap_or(crate_dir)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Words::command().debug_assert();
    }
}
