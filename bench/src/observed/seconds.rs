//! Reads the measured seconds of a run with their wall-clock times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A second of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Second {
    pub phase: String,
    /// The beginning and the end of the second, as seconds since 1970.
    pub from_s: f64,
    pub to_s: f64,
    /// The figures of the second, by their column in `series.csv`.
    pub figures: BTreeMap<String, f64>,
}

/// Reads the seconds of the only trial of a run.
pub fn read(run: &Path) -> Result<Vec<Second>, String> {
    let trials = run.join("trials");
    let unreadable =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let entry = fs::read_dir(&trials).map(|mut entries| entries.next());
    let trial = match entry {
        Ok(Some(Ok(entry))) => entry.path(),
        _ => return Err(unreadable(&trials, &"has no trial")),
    };
    let log = trial.join("histograms.hlog");
    let text = fs::read_to_string(&log).map_err(|error| unreadable(&log, &error))?;
    let begins = phases(&text).ok_or_else(|| unreadable(&log, &"has no base time"))?;
    series(&trial.join("series.csv"), &begins)
}

/// Reads the start of each phase from an interval log, in seconds since 1970: the log's base time
/// plus the start of the phase's first interval.
fn phases(log: &str) -> Option<BTreeMap<String, f64>> {
    let base = log
        .lines()
        .find_map(|line| line.strip_prefix("#[BaseTime: "))?;
    let base: f64 = base.split(' ').next()?.parse().ok()?;
    let mut begins = BTreeMap::new();
    for line in log.lines().filter_map(|line| line.strip_prefix("Tag=")) {
        let (tag, rest) = line.split_once(',')?;
        let (phase, _) = tag.split_once('.')?;
        let start: f64 = rest.split(',').next()?.parse().ok()?;
        let first = begins.entry(phase.to_owned()).or_insert(f64::INFINITY);
        *first = f64::min(*first, base + start);
    }
    Some(begins)
}

fn series(path: &PathBuf, begins: &BTreeMap<String, f64>) -> Result<Vec<Second>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut reader = csv::Reader::from_path(path).map_err(|error| unreadable(&error))?;
    let mut seconds = Vec::new();
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.map_err(|error| unreadable(&error))?;
        let figures: BTreeMap<String, f64> = row
            .iter()
            .filter_map(|(name, cell)| Some((name.clone(), cell.parse().ok()?)))
            .collect();
        let phase = row
            .get("phase")
            .ok_or_else(|| unreadable(&"has no column phase"))?;
        let (Some(begin), Some(number)) = (begins.get(phase), figures.get("second")) else {
            return Err(unreadable(&format!("load {phase} has no start")));
        };
        seconds.push(Second {
            phase: phase.clone(),
            from_s: begin + number,
            to_s: begin + number + 1.0,
            figures,
        });
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LOG: &str = "#[BaseTime: 100.500 (seconds since epoch)]\nTag=a.response.2xx,2.250,1.000,3.5,x\n\
                       Tag=a.response.5xx,1.250,1.000,3.5,x\nTag=b.response.2xx,9.000,1.000,3.5,x\n";

    #[test]
    fn a_second_has_its_wall_clock_time() {
        let folder = tempfile::tempdir().unwrap();
        let trial = folder.path().join("trials/0001");
        fs::create_dir_all(&trial).unwrap();
        fs::write(trial.join("histograms.hlog"), LOG).unwrap();
        fs::write(
            trial.join("series.csv"),
            "phase,second,completed,other\na,0,5,\na,1,6,\nb,0,7,1\n",
        )
        .unwrap();
        let seconds = read(folder.path()).unwrap();
        let times: Vec<_> = seconds
            .iter()
            .map(|it| (&*it.phase, it.from_s, it.to_s))
            .collect();
        assert_eq!(
            times,
            [
                ("a", 101.75, 102.75),
                ("a", 102.75, 103.75),
                ("b", 109.5, 110.5)
            ]
        );
        assert_eq!(seconds[1].figures["completed"], 6.0);
        assert!(!seconds[1].figures.contains_key("other"));
    }

    #[test]
    fn a_load_without_a_start_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("series.csv");
        fs::write(&file, "phase,second\nc,0\n").unwrap();
        let begins = phases(LOG).unwrap();
        assert!(
            series(&file, &begins)
                .unwrap_err()
                .contains("load c has no start")
        );
    }
}
