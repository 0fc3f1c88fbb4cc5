//! Scenario 5 on a hundred routes that differ, whose definitions are compiled anew every minute: no answer of
//! another route, no restart, and memory that does not grow.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Folder, word};
use crate::bench::programs::Programs;
use crate::bench::settings::Settings;

const SCENARIO: &str = "soap-5-routes";

/// Seconds of a floor: within them definitions are compiled anew at least once.
const FLOOR_SECONDS: usize = 60;

/// What the floor may rise by after the first two minutes, in which pools and the allocator fill.
const RISE_MAX_KIB: i64 = 1024;

/// Runs it for so many minutes and prints the floor of the gateway's anonymous memory minute by minute.
pub fn run(settings: &Settings, programs: &Programs) -> Result<(), String> {
    let folder = Folder::make()?;
    let (load, out) = (folder.0.join("endurance.yaml"), folder.0.join("run"));
    let text = format!(
        "profile: endurance\ntitle: Endurance\nphases:\n  - name: endurance\n    closed: {{connections: 100}}\n    warm_up: 2s\n    measure: {}s\n",
        settings.minutes * 60
    );
    std::fs::write(&load, text).map_err(|error| error.to_string())?;
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
            SCENARIO,
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
    let series = std::fs::read_to_string(trial.join("series.csv"))
        .map_err(|error| format!("the run has no series: {error}"))?;
    let samples = samples(&series)?;
    let answers: u64 = samples.iter().map(|sample| sample.0).sum();
    let floors: Vec<u64> = samples
        .chunks_exact(FLOOR_SECONDS)
        .filter_map(|minute| minute.iter().map(|sample| sample.1 / 1024).min())
        .collect();
    println!("{answers} answers; floor of each minute, KiB: {floors:?}");
    // 1 says that an answer failed its check, that a route gave another's, or that the process ended.
    if status.code() == Some(1) {
        return Err("answers failed: run the scenario by itself to see which".into());
    }
    judge(&floors)
}

fn judge(floors: &[u64]) -> Result<(), String> {
    let Some((first, last)) = floors.get(2).zip(floors.last()) else {
        println!("too short to tell whether memory grows: give it 4 minutes at least");
        return Ok(());
    };
    let rise = i64::try_from(*last).unwrap_or(0) - i64::try_from(*first).unwrap_or(0);
    println!("from the third minute to the last: {rise:+} KiB");
    if rise > RISE_MAX_KIB {
        return Err(format!("memory grows by {rise} KiB"));
    }
    Ok(())
}

/// Answers and anonymous bytes of the gateway, second by second.
fn samples(series: &str) -> Result<Vec<(u64, u64)>, String> {
    let mut lines = series
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    let column = |name: &str| {
        let found = head.iter().position(|one| *one == name);
        found.ok_or_else(|| format!("the series has no {name}"))
    };
    let (answers, memory) = (column("completed")?, column("gateway_rss_anon_bytes")?);
    let number = |line: &[&str], at: usize| line.get(at).and_then(|it| it.parse().ok());
    Ok(lines
        .filter_map(|line| Some((number(&line, answers)?, number(&line, memory)?)))
        .collect())
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
    fn memory_is_read_by_the_names_of_columns_and_growth_is_refused() {
        let series = "second,completed,gateway_rss_anon_bytes\n0,7,1024\n1,8,2048\n";
        assert_eq!(samples(series), Ok(vec![(7, 1024), (8, 2048)]));
        assert!(samples("a,b\n").is_err());
        assert_eq!(judge(&[900, 1000, 1000, 1000 + 1024]), Ok(()));
        assert!(judge(&[0, 0, 1000, 2025]).is_err());
    }
}
