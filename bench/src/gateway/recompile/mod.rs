//! Measures how much the traffic slows down while the definitions of 200 policy instances are
//! compiled again, and how much memory an instance takes.
//!
//! The definitions of a hundred routes are compiled again every three seconds, all at about the
//! same time, while requests are sent at a fixed rate far below the gateway's capacity. Each block
//! has a fresh process. In a block, seconds with and without compilation alternate, so disturbances
//! of the machine affect both. The value of a block is the median 99th percentile of its seconds
//! with compilation minus that of its seconds without. The verdict depends on the interval of this
//! value over the blocks.

mod cycles;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gatebench_stats::difference;
use serde_json::Value;

use self::cycles::{Block, Second};
use self::watch::Reading;
use super::variants::{Variant, link_definitions};
use super::{series, trials, word};
use crate::folder::Folder;
use crate::programs::Programs;
use crate::settings::Settings;
use crate::spread::spread;

/// The rate is high enough for a 99th percentile of each second, and far below the capacity of one
/// core.
const RATE_PER_SECOND: u32 = 1_500;

/// The length of a block, in which everything is compiled again four times. In longer blocks, the
/// instances would no longer be due for compilation at the same time.
const BLOCK_SECONDS: u32 = 13;

/// The approximate duration of a block's start, verification of policies, warm-up and end.
const OVERHEAD_SECONDS: u32 = 10;

/// The number of policy instances that a hundred routes have in addition to those of one route.
const INSTANCES_MORE: f64 = 198.0;

/// The highest permitted rise of the 99th percentile.
const RISE_MAX_MS: f64 = 2.0;

const HUNDRED: Variant = Variant {
    name: "recompiled",
    ttl: "3s",
    routes: 100,
};

const ALONE: Variant = Variant {
    name: "alone",
    ttl: "1h",
    routes: 1,
};

/// Measures for about the given number of minutes and prints the result. It is an error if a
/// request is lost, if recompiling raises the 99th percentile too much, or if the blocks are
/// inconclusive.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let folder = Folder::new()?;
    link_definitions(folder.at())?;
    let count = (settings.minutes * 60 / (BLOCK_SECONDS + OVERHEAD_SECONDS)).max(1);
    println!(
        "{RATE_PER_SECOND} requests/s on 100 routes, {count} processes of {BLOCK_SECONDS} s; 99th percentile of each second"
    );
    let alone = Run::of(programs, folder.at(), ALONE, 3, 2)?;
    let hundred = Run::of(programs, folder.at(), HUNDRED, count, BLOCK_SECONDS)?;
    let memory = (hundred.memory()? - alone.memory()?) / INSTANCES_MORE / 1024.0;
    println!("memory per policy instance: {memory:.0} KiB");
    let lost = hundred.trials.iter().filter_map(|(record, _)| lost(record));
    judge(
        &hundred.blocks()?,
        &lost.collect::<Vec<_>>(),
        hundred.trials.len(),
    )
}

/// Describes why a process did not complete its trial, or which requests it lost; returns `None` if
/// every request was sent and got a correct response.
fn lost(record: &Value) -> Option<String> {
    if record["outcome"]["kind"] != "completed" {
        return Some(format!("outcome {}", record["outcome"]));
    }
    let counts = &record["phases"][0]["counts"];
    let of_kinds = ["errors", "checks_failed"].into_iter().find_map(|bad| {
        let kinds = counts[bad].as_object()?;
        (!kinds.is_empty()).then(|| format!("{bad}: {}", counts[bad]))
    });
    let dropped = counts["dropped"].as_u64().unwrap_or(0);
    of_kinds.or_else(|| (dropped > 0).then(|| format!("dropped: {dropped}")))
}

/// The trials of a run, with the CPU time of the compiling thread during the run.
struct Run {
    /// Each trial's record and folder.
    trials: Vec<(Value, PathBuf)>,
    readings: Vec<Reading>,
}

impl Run {
    fn of(
        programs: &Programs,
        folder: &Path,
        variant: Variant,
        blocks: u32,
        seconds: u32,
    ) -> Result<Self, String> {
        let (load, out) = (
            folder.join(format!("{}-load.yaml", variant.name)),
            folder.join(format!("{}-run", variant.name)),
        );
        let text = format!(
            "profile: recompile\ntitle: A fixed rate\nphases:\n  - name: rate\n    open: {{rate_per_second: {RATE_PER_SECOND}, connections_max: 200}}\n    warm_up: 2s\n    measure: {seconds}s\n"
        );
        std::fs::write(&load, text)
            .map_err(|error| format!("{} cannot be written: {error}", load.display()))?;
        let mut child = Command::new(&programs.gatebench)
            .args(["run", "--no-direct", "--gateway", "reference"])
            .args([
                "--scenario",
                &word(&variant.write(folder)?),
                "--load",
                &word(&load),
            ])
            .args(["--blocks", &blocks.to_string(), "--dir", &word(&out)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("gatebench cannot be started: {error}"))?;
        let readings = watch::until_end(&mut child)?;
        let folders = std::fs::read_dir(out.join("trials")).map_err(|error| {
            format!("gatebench run did not start: {error}; see the output above")
        })?;
        let mut trials = Vec::new();
        for entry in folders.flatten() {
            let record = trials::read(&entry.path().join("trial.json"))?;
            trials.push((record, entry.path()));
        }
        Ok(Self { trials, readings })
    }

    /// The median of the gateway's memory (PSS) before the load, in bytes.
    fn memory(&self) -> Result<f64, String> {
        let of = |(record, _): &(Value, PathBuf)| {
            record["phases"][0]["usage"]["gateway"]["pss_before_bytes"].as_f64()
        };
        let known: Vec<f64> = self.trials.iter().filter_map(of).collect();
        gatebench_stats::median(&known)
            .ok_or_else(|| "no trial's record contains the gateway's memory".into())
    }

    fn blocks(&self) -> Result<Vec<Block>, String> {
        let of = |(record, folder): &(Value, PathBuf)| {
            let began_ns = began_unix_ns(record)?;
            let rows = series::columns(folder, ["second", "response_p99_ns"])?;
            let seconds = rows.into_iter().map(|[second, p99_ns]| {
                let from_ns = began_ns + i128::from(second) * 1_000_000_000;
                Second {
                    p99_ms: p99_ns as f64 / 1e6,
                    compiling_ns: watch::used(&self.readings, from_ns, from_ns + 1_000_000_000),
                }
            });
            let block = cycles::block(&seconds.collect::<Vec<_>>());
            if block.is_none() {
                println!(
                    "omitted: {}: no seconds with compilation, or none without it",
                    folder.display()
                );
            }
            Ok(block)
        };
        self.trials
            .iter()
            .filter_map(|trial| of(trial).transpose())
            .collect()
    }
}

/// Returns the start of the measurement, in nanoseconds since the Unix epoch.
fn began_unix_ns(record: &Value) -> Result<i128, String> {
    let started = record["started"]
        .as_str()
        .and_then(|it| it.parse::<jiff::Timestamp>().ok());
    let began_ns = record["phases"][0]["began_ns"].as_i64();
    let known = started.zip(began_ns);
    known
        .map(|(started, began_ns)| started.as_nanosecond() + i128::from(began_ns))
        .ok_or_else(|| "a record does not state when its measurement began".into())
}

/// Judges the blocks of this number of processes. A process that lost requests shows that
/// recompiling does harm, no matter how fast its other requests were. A process without both kinds
/// of seconds shows nothing.
fn judge(blocks: &[Block], lost: &[String], processes: usize) -> Result<(), String> {
    let idle: Vec<f64> = blocks.iter().map(|block| block.idle_p99_ms).collect();
    let compiling: Vec<f64> = blocks.iter().map(|block| block.compiling_p99_ms).collect();
    let share: Vec<f64> = blocks.iter().map(|block| block.compiling_share).collect();
    for (what, values) in [
        ("99th percentile of seconds without compilation, ms", &idle),
        (
            "99th percentile of seconds with compilation, ms",
            &compiling,
        ),
        ("share of these seconds spent on compiling", &share),
    ] {
        println!(
            "{what}: {}",
            spread(values).map_or("–".into(), |it| it.to_string())
        );
    }
    if let Some(first) = lost.first() {
        return Err(format!(
            "not met: {} of {processes} processes lost requests; the first of them: {first}",
            lost.len()
        ));
    }
    if blocks.len() * 10 < processes * 9 {
        return Err(format!(
            "undecided: only {} of {processes} processes have seconds with and without compilation; use a quieter machine",
            blocks.len()
        ));
    }
    let rise = difference(&idle, &compiling, 0.95, 1).ok_or("there are no blocks")?;
    let Some(interval) = rise.interval else {
        return Err("fewer than 10 processes have seconds with and without compilation; use --minutes 5 or more".into());
    };
    println!(
        "rise: {:.2} ms (95 % interval of {} processes: {:.2} to {:.2})",
        rise.effect, rise.blocks, interval.low, interval.high
    );
    if interval.high < RISE_MAX_MS {
        println!("met: the 99th percentile rises by less than {RISE_MAX_MS} ms");
        return Ok(());
    }
    Err(match interval.low > RISE_MAX_MS {
        true => format!("recompiling raises the 99th percentile by more than {RISE_MAX_MS} ms"),
        false => format!(
            "undecided: {RISE_MAX_MS} ms is within the interval; use more --minutes, or a quieter \
            machine"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(count: usize, rise_ms: impl Fn(usize) -> f64) -> Vec<Block> {
        let block = |at: usize| Block {
            idle_p99_ms: 5.0 + at as f64,
            compiling_p99_ms: 5.0 + at as f64 + rise_ms(at),
            compiling_share: 0.5,
        };
        (0..count).map(block).collect()
    }

    #[test]
    fn a_bound_within_the_interval_is_not_decided() {
        let wavering = |middle: f64| move |at: usize| middle + [-0.5, 0.5][at % 2];
        let judge_all = |blocks: &[Block]| judge(blocks, &[], blocks.len());
        assert_eq!(judge_all(&blocks(20, wavering(1.0))), Ok(()));
        let verdict = |blocks: &[Block]| judge_all(blocks).err().unwrap_or_default();
        assert!(verdict(&blocks(20, wavering(3.0))).contains("raises"));
        assert!(verdict(&blocks(20, wavering(2.0))).contains("undecided"));
        assert!(verdict(&blocks(9, wavering(1.0))).contains("fewer than 10"));
    }

    #[test]
    fn a_process_that_lost_requests_is_not_omitted() {
        let mut record = serde_json::json!({
            "outcome": {"kind": "completed"},
            "phases": [{"counts": {"errors": {}, "checks_failed": {}, "dropped": 0}}],
        });
        assert_eq!(lost(&record), None);
        record["phases"][0]["counts"]["dropped"] = 3.into();
        assert_eq!(lost(&record).as_deref(), Some("dropped: 3"));
        record["phases"][0]["counts"]["errors"] = serde_json::json!({"reset": 1});
        let why = lost(&record);
        assert!(why.as_ref().is_some_and(|why| why.contains("reset")));
        record["outcome"] = serde_json::json!({"kind": "failed"});
        assert!(lost(&record).is_some_and(|why| why.contains("failed")));
        let held = blocks(20, |at| [0.5, 1.5][at % 2]);
        let verdict = judge(&held, &[why.unwrap_or_default()], 20);
        assert!(verdict.is_err_and(|it| it.starts_with("not met: 1 of 20 processes")));
        let verdict = judge(&held, &[], 23);
        assert!(verdict.is_err_and(|it| it.contains("20 of 23")));
    }

    #[test]
    fn the_start_of_a_measurement_is_relative_to_the_trial() {
        let record = serde_json::json!({
            "started": "1970-01-01T00:00:01.5Z",
            "phases": [{"began_ns": 250_000_000}],
        });
        assert_eq!(began_unix_ns(&record), Ok(1_750_000_000));
    }
}
