//! Follows one agent from the start to the end of its load: fetches its records, and checks that
//! they are complete.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use gatebench_engine::{Counts, Interval, Outcome};
use gatebench_testbed::{DriverError, RemoteError};

use crate::agents::{Connected, SILENCE};
use crate::clocks::Offset;
use crate::outbox::Lines;
use crate::protocol::{Ask, Health, Progress, Totals};
use crate::record::Record;

const FETCH_EVERY: Duration = Duration::from_millis(100);

/// News from an agent. The first field of each variant is the agent's number.
pub(crate) enum News {
    Second(usize, Box<Interval>),
    /// The numbers of responses and of requests without a response so far, and the current number
    /// of waiting arrivals.
    Live(usize, [u64; 3]),
    Ended(usize, Result<Box<Ended>, DriverError>),
}

pub(crate) struct Ended {
    /// The outcome, with times on the clock of this machine.
    pub(crate) outcome: Outcome,
    pub(crate) health: Health,
    /// The number of records that arrived, and their total length in bytes.
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

pub(crate) struct Follower<'a> {
    pub(crate) number: usize,
    pub(crate) agent: &'a Connected,
    pub(crate) offset: Offset,
    /// Set when all agents must stop.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) news: Sender<News>,
}

#[derive(Default)]
struct Read {
    records: u64,
    bytes: u64,
    lines: Lines,
    counts: Counts,
}

impl Follower<'_> {
    pub(crate) fn run(self) {
        let ended = self.follow().map(Box::new);
        // Sending does not fail, because the receiver waits for the end of every agent.
        let _ = self.news.send(News::Ended(self.number, ended));
    }

    fn follow(&self) -> Result<Ended, DriverError> {
        let mut read = Read::default();
        let mut was_stopped = false;
        loop {
            if !was_stopped && self.stop.load(Ordering::Acquire) {
                self.agent.host.ask_role::<()>(&Ask::Stop, SILENCE)?;
                was_stopped = true;
            }
            let after = read.records;
            let progress: Progress = self.agent.host.ask_role(&Ask::Records { after }, SILENCE)?;
            let is_over = progress.is_over;
            self.take(progress, &mut read)?;
            if is_over {
                break;
            }
            thread::sleep(FETCH_EVERY);
        }
        let totals: Totals = self.agent.host.ask_role(&Ask::Finish, SILENCE)?;
        self.check(totals, &read)
    }

    fn take(&self, progress: Progress, read: &mut Read) -> Result<(), DriverError> {
        if progress.first != read.records {
            let (first, wanted) = (progress.first, read.records);
            return Err(self.defect(format!("expected record {wanted}, but received {first}")));
        }
        for line in &progress.records {
            let record: Record =
                serde_json::from_str(line).map_err(|error| self.defect(error.to_string()))?;
            let interval = record.read();
            let interval = interval.map_err(|error| self.defect(error.to_string()))?;
            read.records += 1;
            read.bytes += line.len() as u64;
            read.lines.add(line);
            read.counts.add(&record.counts);
            let _ = self
                .news
                .send(News::Second(self.number, Box::new(interval)));
        }
        let live = [progress.completed, progress.failed, progress.queued];
        let _ = self.news.send(News::Live(self.number, live));
        Ok(())
    }

    /// Checks that the records are those that the agent wrote, and that their counts add up to its
    /// totals.
    fn check(&self, totals: Totals, read: &Read) -> Result<Ended, DriverError> {
        if (totals.records, &totals.sha256) != (read.records, &read.lines.hex()) {
            let (wrote, arrived) = (totals.records, read.records);
            let what = format!(
                "the agent wrote {wrote} records and {arrived} arrived, and their checksums differ"
            );
            return Err(self.defect(what));
        }
        let outcome = totals.outcome.read(|ns| self.offset.here(ns));
        let outcome = outcome.map_err(|error| self.defect(error.to_string()))?;
        if outcome.counts != read.counts {
            return Err(self.defect("the seconds do not add up to the totals"));
        }
        Ok(Ended {
            outcome,
            health: totals.health,
            records: read.records,
            bytes: read.bytes,
        })
    }

    fn defect(&self, what: impl std::fmt::Display) -> DriverError {
        let name = self.agent.host.name();
        DriverError::Remote(RemoteError::environment(
            format!("the records of agent {name} are incomplete or damaged: {what}"),
            "report this as a defect of gatebench; the results of this load are not valid",
        ))
    }
}
