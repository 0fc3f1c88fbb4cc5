//! Finds out when the seconds of a load begin, from the events of the trial in progress.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::SystemTime;

/// The beginnings of a load's seconds.
pub struct Grid {
    /// The directory of the run.
    run: PathBuf,
    events: Option<BufReader<File>>,
    /// A time at which a second of the current load began, in seconds since 1970.
    origin_s: Option<f64>,
}

impl Grid {
    pub fn new(run: PathBuf) -> Self {
        Self {
            run,
            events: None,
            origin_s: None,
        }
    }

    /// Reads new events. The event of a load's second is written when the next second begins.
    pub fn follow(&mut self) {
        if self.events.is_none() {
            self.events = self.open();
        }
        let Some(events) = &mut self.events else {
            return;
        };
        let mut line = String::new();
        while events.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if is_first_second(&line) {
                self.origin_s = Some(now_s());
            }
            line.clear();
        }
    }

    fn open(&self) -> Option<BufReader<File>> {
        let trial = fs::read_dir(self.run.join("trials")).ok()?.next()?.ok()?;
        let file = File::open(trial.path().join("live.jsonl")).ok()?;
        Some(BufReader::new(file))
    }

    /// Returns the next time at which a second begins, in seconds since 1970; `None` if no load has
    /// begun.
    pub fn next_s(&self) -> Option<f64> {
        let origin_s = self.origin_s?;
        Some(origin_s + (now_s() - origin_s).ceil())
    }
}

fn is_first_second(line: &str) -> bool {
    line.contains(r#""event":"second""#) && line.contains(r#""second":0,"#)
}

/// Returns the time in seconds since 1970.
pub fn now_s() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0.0, |it| it.as_secs_f64())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn seconds_begin_when_the_first_one_of_a_load_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let trial = folder.path().join("trials/0001");
        let mut grid = Grid::new(folder.path().into());
        grid.follow();
        assert_eq!(grid.next_s(), None);
        fs::create_dir_all(&trial).unwrap();
        let first = "{\"event\":\"second\",\"phase\":\"a\",\"second\":0,\"completed\":1}\n";
        fs::write(trial.join("live.jsonl"), first).unwrap();
        let before = now_s();
        grid.follow();
        let next = grid.next_s().unwrap();
        assert!((before + 0.9..=now_s() + 1.0).contains(&next), "{next}");
    }
}
