//! Benchmarks against peers: interleaved, pinned, as ratios with their spread.
//!
//! A machine that others share changes its speed from minute to minute. So every figure is the ratio
//! of two runs that directly follow each other, repeated, and what is printed is the median ratio with
//! its range.

mod client;
mod engine;
mod memory;
mod pairs;
mod peers;
mod server;
mod upstream;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Core of the load tools.
const CLIENT_CORE: &str = "0";
/// Core of the servers.
const SERVER_CORE: &str = "1";

pub const HELP: &str = "\
Benchmarks (each builds what it needs in release mode):
  cargo xtask bench engine [--pairs 7] [--seconds 4] [--connections 64]
                          client CPU per request, beside wrk, ab and h2load
  cargo xtask bench upstream [--pairs 7] [--seconds 4]
                          server CPU per request of `upstream ping`, beside nginx `return 200`
  cargo xtask bench memory [--minutes 10]
                          memory of the engine at full rate";

/// Settings common to the benchmarks.
struct Settings {
    pairs: usize,
    seconds: u32,
    connections: u32,
    minutes: u32,
}

/// Runs the benchmark named by the first word.
pub fn run(words: &[&str], root: &Path) -> ExitCode {
    let answer = match words {
        [name, rest @ ..] => settings(rest).and_then(|settings| {
            let binaries = Binaries::build(root)?;
            match *name {
                "engine" => engine::run(&settings, &binaries),
                "upstream" => upstream::run(&settings, &binaries),
                "memory" => memory::run(&settings, &binaries),
                other => Err(format!("there is no benchmark '{other}'\n{HELP}")),
            }
        }),
        [] => Err(HELP.into()),
    };
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn settings(words: &[&str]) -> Result<Settings, String> {
    let mut settings = Settings {
        pairs: 7,
        seconds: 4,
        connections: 64,
        minutes: 10,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} needs a number", pair[0]));
        };
        let number: u32 = value
            .parse()
            .map_err(|_| format!("'{value}' is not a number"))?;
        match *name {
            "--pairs" => settings.pairs = number as usize,
            "--seconds" => settings.seconds = number,
            "--connections" => settings.connections = number,
            "--minutes" => settings.minutes = number,
            other => return Err(format!("there is no option '{other}'\n{HELP}")),
        }
    }
    Ok(settings)
}

/// The programs of the project under measurement.
struct Binaries {
    gatebench: PathBuf,
    client: PathBuf,
}

impl Binaries {
    fn build(root: &Path) -> Result<Self, String> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        for package in [
            &["-p", "gatebench"][..],
            &["-p", "gatebench-engine", "--example", "client"],
        ] {
            let status = Command::new(&cargo)
                .args(["build", "--release", "--quiet"])
                .args(package)
                .current_dir(root)
                .status()
                .map_err(|error| format!("cargo cannot be started: {error}"))?;
            if !status.success() {
                return Err("the release build failed".into());
            }
        }
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let release = target.join("release");
        Ok(Self {
            gatebench: release.join("gatebench"),
            client: release.join("examples/client"),
        })
    }
}
