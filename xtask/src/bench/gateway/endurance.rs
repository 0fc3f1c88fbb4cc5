//! Scenario 5 on a hundred routes that differ, whose definitions are compiled anew every minute: no answer of
//! another route, no restart, and memory that does not grow.

use std::path::Path;
use std::process::{Command, Stdio};

use gatebench_stats::leak::{self, Growth, LeakVerdict, Rule, Sample};

use super::recompile::{Variant, write_variants};
use super::{Folder, series, word};
use crate::bench::programs::Programs;
use crate::bench::settings::Settings;

/// Scenario soap-5-routes, whose definitions are compiled anew within each stretch of a floor.
const SCENARIO: Variant = ("soap-5-every-minute", "60s", 100);

/// In these pools and the allocator fill.
const SETTLING_SECONDS: usize = 120;

/// Seconds of a floor: within them definitions are compiled anew at least once.
const FLOOR_SECONDS: usize = 60;

/// What the floor may rise by from one such minute to the last.
const RISE_MAX_KIB: u64 = 1024;

/// The same over ten minutes, in KiB an hour.
const RULE: Rule = Rule {
    bound_per_hour: 6.0 * 1024.0,
    seed: 1,
};

/// Runs it for so many minutes and prints the floor of the gateway's anonymous memory minute by minute.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let folder = Folder::make()?;
    let (load, out) = (folder.0.join("endurance.yaml"), folder.0.join("run"));
    let text = format!(
        "profile: endurance\ntitle: Endurance\nphases:\n  - name: endurance\n    closed: {{connections: 100}}\n    warm_up: 2s\n    measure: {}s\n",
        settings.minutes * 60
    );
    std::fs::write(&load, text).map_err(|error| error.to_string())?;
    let scenarios = write_variants(&folder.0, &[SCENARIO])?;
    let status = Command::new(&programs.gatebench)
        .args([
            "run",
            "--no-floor",
            "--blocks",
            "1",
            "--gateway",
            "reference",
        ])
        .args([
            "--scenario",
            &word(&scenarios[0]),
            "--load",
            &word(&load),
            "--out",
            &word(&out),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("gatebench cannot be started: {error}"))?;
    let trial = only_folder(&out.join("trials"))?;
    let seconds = series::columns(&trial, ["completed", "gateway_rss_anon_bytes"])?;
    let answers: u64 = seconds.iter().map(|second| second[0]).sum();
    let memory: Vec<u64> = seconds.iter().map(|second| second[1]).collect();
    println!("{answers} answers");
    // 1 says that an answer failed its check, that a route gave another's, or that the process ended.
    if status.code() == Some(1) {
        return Err("answers failed: run the scenario by itself to see which".into());
    }
    judge(&memory)
}

/// Prints the floor of each minute and the verdict over all, and refuses growth.
fn judge(memory: &[u64]) -> Result<(), String> {
    let settled = &memory[memory.len().min(SETTLING_SECONDS)..];
    let floors = settled.chunks_exact(FLOOR_SECONDS);
    let floors: Vec<u64> = floors
        .filter_map(|minute| minute.iter().min().map(|bytes| bytes / 1024))
        .collect();
    println!("floor of each minute after the first two, KiB: {floors:?}");
    let samples: Vec<Sample> = (settled.iter().enumerate())
        .map(|(second, bytes)| Sample {
            at_seconds: second as f64,
            value: *bytes as f64 / 1024.0,
        })
        .collect();
    let Some((growth, (first, last))) =
        leak::growth(&samples, RULE).zip(floors.first().zip(floors.last()))
    else {
        println!("too short to tell whether memory grows: give it 4 minutes at least");
        return Ok(());
    };
    println!("{}", told(&growth));
    let rise = last.saturating_sub(*first);
    println!("from the first of these minutes to the last: {rise} KiB more");
    if growth.verdict == LeakVerdict::Leak || rise > RISE_MAX_KIB {
        return Err(format!("memory grows by {rise} KiB"));
    }
    Ok(())
}

/// The verdict in words.
fn told(growth: &Growth) -> String {
    let verdict = match growth.verdict {
        LeakVerdict::Leak => "it leaks".to_owned(),
        LeakVerdict::NoLeak => format!("no leak above {} KiB an hour", RULE.bound_per_hour),
        LeakVerdict::Undetermined { seconds_needed, .. } => {
            let needed = seconds_needed.map_or("a far longer run".into(), |seconds| {
                format!("a run of {:.0} minutes", (seconds / 60.0).ceil())
            });
            format!("whether it leaks would take {needed} to tell")
        }
    };
    let slope = growth.slope_per_hour.zip(growth.interval.as_ref());
    slope.map_or(verdict.clone(), |(slope, interval)| {
        format!(
            "growth: {slope:.0} KiB an hour ({:.0} to {:.0}): {verdict}",
            interval.low, interval.high
        )
    })
}

fn only_folder(path: &Path) -> Result<std::path::PathBuf, String> {
    let mut folders = std::fs::read_dir(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let first = folders.next().and_then(Result::ok);
    first.map_or_else(|| Err("there is no trial".into()), |it| Ok(it.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_is_refused() {
        let saw = |second: u64, slope: u64| (20_000 + second % 7 * 100 + slope * second) * 1024;
        let flat: Vec<u64> = (0..600).map(|second| saw(second, 0)).collect();
        assert_eq!(judge(&flat), Ok(()));
        let leak: Vec<u64> = (0..600).map(|second| saw(second, 10)).collect();
        assert!(judge(&leak).is_err());
        assert_eq!(judge(&flat[..60]), Ok(()), "too short for a verdict");
    }
}
