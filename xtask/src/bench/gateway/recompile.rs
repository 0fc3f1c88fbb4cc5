//! What it costs the traffic that the definitions of 200 policy instances are compiled anew, and what an
//! instance takes of memory.
//!
//! Three variants of scenario soap-5-routes take turns, each with fresh processes: its hundred routes with
//! definitions that are kept, the same with a TTL so short that all of them are due all the time, and one
//! route alone. The rate is the same in all, and far from what the gateway can do.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Folder, series, trials, word};
use crate::bench::programs::Programs;
use crate::bench::settings::Settings;
use crate::bench::spread::spread;

const SCENARIO: &str = include_str!("../../../../scenarios/soap-5-routes.yaml");

/// Requests a second, a tenth of what one core can do of them.
const RATE_PER_SECOND: u32 = 1_000;

/// Policy instances that the variants of a hundred routes have more than the one of one route.
const INSTANCES_MORE: f64 = 198.0;

/// What the 99th percentile may rise by.
const RISE_MAX_MS: f64 = 2.0;

/// A variant: its name, its TTL, its routes.
pub(super) type Variant = (&'static str, &'static str, u32);

const KEPT: Variant = ("kept", "1h", 100);
const RECOMPILED: Variant = ("recompiled", "1s", 100);
const ALONE: Variant = ("alone", "1h", 1);

/// What one trial came to.
struct Trial {
    /// Median of the seconds' 99th percentiles.
    p99_ms: f64,
    cpu_ms_per_second: f64,
    /// Memory before the load.
    memory_bytes: f64,
}

/// Runs the rounds and prints them. An error where recompiling raises the 99th percentile too much.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let folder = Folder::make()?;
    let files = write_files(&folder.0, settings.seconds)?;
    println!(
        "{RATE_PER_SECOND} requests/s, {} s a trial; 99th percentile of each second, the median of a trial",
        settings.seconds
    );
    let (mut rises, mut memory) = (Vec::new(), Vec::new());
    for round in 0..settings.rounds {
        let out = folder.0.join(format!("run-{round}"));
        run_round(programs, &files, round, &out)?;
        let [kept, recompiled, alone] =
            [KEPT, RECOMPILED, ALONE].map(|(name, ..)| trial(&out, name));
        let (kept, recompiled, alone) = (kept?, recompiled?, alone?);
        println!(
            "round {}: kept {:.2} ms, recompiled {:.2} ms; CPU {:.0} and {:.0} ms a second",
            round + 1,
            kept.p99_ms,
            recompiled.p99_ms,
            kept.cpu_ms_per_second,
            recompiled.cpu_ms_per_second
        );
        rises.push(recompiled.p99_ms - kept.p99_ms);
        memory.push((kept.memory_bytes - alone.memory_bytes) / INSTANCES_MORE / 1024.0);
    }
    let shown = |values: &[f64]| spread(values).map_or("–".into(), |spread| spread.to_string());
    println!("memory of a policy instance, KiB: {}", shown(&memory));
    println!("rise of the 99th percentile, ms: {}", shown(&rises));
    match spread(&rises) {
        Some(rise) if rise.median > RISE_MAX_MS => Err(format!(
            "recompiling raises the 99th percentile by {:.2} ms",
            rise.median
        )),
        _ => Ok(()),
    }
}

/// Writes load and scenarios; answers their paths, the load's first.
fn write_files(folder: &Path, seconds: u32) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", folder.display());
    let load = format!(
        "profile: recompile\ntitle: A fixed rate\nphases:\n  - name: rate\n    open: {{rate_per_second: {RATE_PER_SECOND}, connections_max: 200}}\n    warm_up: 2s\n    measure: {seconds}s\n"
    );
    let mut files = vec![folder.join("load.yaml")];
    std::fs::write(&files[0], load).map_err(failed)?;
    files.extend(write_variants(folder, &[KEPT, RECOMPILED, ALONE])?);
    Ok(files)
}

/// Writes these variants of the scenario, and puts its definitions beside them.
pub(super) fn write_variants(folder: &Path, variants: &[Variant]) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", folder.display());
    let definitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/soap");
    std::os::unix::fs::symlink(definitions, folder.join("soap")).map_err(failed)?;
    let write = |variant: &Variant| {
        let path = folder.join(format!("{}.yaml", variant.0));
        std::fs::write(&path, scenario(*variant)).map_err(failed)?;
        Ok(path)
    };
    variants.iter().map(write).collect()
}

fn scenario((name, ttl, routes): Variant) -> String {
    SCENARIO
        .replace("scenario: soap-5-routes", &format!("scenario: {name}"))
        .replace("cache_ttl: 1h", &format!("cache_ttl: {ttl}"))
        .replace("repeat: 100", &format!("repeat: {routes}"))
}

fn run_round(
    programs: &Programs,
    files: &[PathBuf],
    round: usize,
    out: &Path,
) -> Result<(), String> {
    let mut command = Command::new(&programs.gatebench);
    command.args([
        "run",
        "--no-floor",
        "--blocks",
        "1",
        "--gateway",
        "reference",
    ]);
    command.args([
        "--seed",
        &(round + 1).to_string(),
        "--load",
        &word(&files[0]),
    ]);
    for scenario in &files[1..] {
        command.args(["--scenario", &word(scenario)]);
    }
    let output = command
        .args(["--out", &word(out)])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    if output.status.code() == Some(2) {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("gatebench run did not begin: {}", errors.trim()));
    }
    Ok(())
}

/// The one trial of a variant.
fn trial(out: &Path, name: &str) -> Result<Trial, String> {
    let folders = std::fs::read_dir(out.join("trials"))
        .map_err(|error| format!("the run has no trials: {error}"))?;
    let paths = folders.flatten().map(|folder| folder.path());
    let mut seen = String::new();
    for path in paths {
        let record = trials::read(&path.join("trial.json"))?;
        if record["trial"]["scenario"] == name {
            return of_record(&path, &record).map_err(|why| format!("variant {name}: {why}"));
        }
        let _ = write!(seen, " {}", path.display());
    }
    Err(format!("there is no trial of variant {name}, only{seen}"))
}

fn of_record(path: &Path, record: &Value) -> Result<Trial, String> {
    // Also refuses a trial whose answers failed.
    trials::cost(record)?;
    let seconds = series::columns(path, ["response_p99_ns", "gateway_cpu_ns"])?;
    let p99s: Vec<f64> = seconds.iter().map(|row| row[0] as f64 / 1e6).collect();
    let cpu: u64 = seconds.iter().map(|row| row[1]).sum();
    let memory = &record["phases"][0]["usage"]["gateway"]["pss_before_bytes"];
    Ok(Trial {
        p99_ms: gatebench_stats::median(&p99s).ok_or("its series is empty")?,
        cpu_ms_per_second: cpu as f64 / 1e6 / seconds.len() as f64,
        memory_bytes: memory.as_f64().ok_or("its record has no memory")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_by_name_ttl_and_routes() {
        let text = scenario(RECOMPILED);
        assert!(text.contains("\nscenario: recompiled\n"));
        assert_eq!(text.matches("cache_ttl: 1s").count(), 2);
        assert_eq!(text.matches("repeat: 100").count(), 3);
        assert_eq!(scenario(ALONE).matches("repeat: 1\n").count(), 3);
    }
}
