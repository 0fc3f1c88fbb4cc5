//! `--hdr`: an HdrHistogram interval log, a line for each second and metric.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gatebench_engine::{Interval, Metric, Recording};
use gatebench_store::{HistogramError, HistogramLog};
use hdrhistogram::serialization::V2DeflateSerializer;

use crate::exit::Exit;
use crate::failure::Failure;

/// Seconds that wait for a worker that is behind, before they are written without it.
const SECONDS_OPEN: usize = 8;
const METRICS: [Metric; 3] = [Metric::Response, Metric::Service, Metric::Lateness];

/// The file, from before the load until its end.
pub struct HdrFile {
    path: PathBuf,
    out: BufWriter<File>,
    serializer: V2DeflateSerializer,
}

impl HdrFile {
    /// Makes the file, so that a load is not lost to a name that cannot be written.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| failure(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            serializer: V2DeflateSerializer::new(),
        })
    }

    /// Begins the log of a load whose seconds come from that many workers.
    pub fn begin(&mut self, workers: usize) -> Result<HdrLog<'_>, Failure> {
        let log = HistogramLog::begin(&mut self.out, &mut self.serializer, SystemTime::now())
            .map_err(|error| failure(&self.path, &error))?;
        Ok(HdrLog {
            log,
            workers,
            open: BTreeMap::new(),
            error: None,
        })
    }

    /// Writes the last bytes.
    pub fn finish(mut self, written: Result<(), HistogramError>) -> Result<(), Failure> {
        let flushed = written.and_then(|()| self.out.flush().map_err(HistogramError::Io));
        flushed.map_err(|error| failure(&self.path, &error))
    }
}

fn failure(path: &Path, error: &dyn Error) -> Failure {
    let (culprit, what) = (
        format!("--hdr {}", path.display()),
        format!("cannot write it: {error}"),
    );
    let remedy = "name a file in a writable directory, on a disk with free space";
    Failure::said(Exit::Environment, culprit, what, remedy)
}

/// The log under way.
pub struct HdrLog<'a> {
    log: HistogramLog<'a, BufWriter<File>>,
    workers: usize,
    open: BTreeMap<u32, Second>,
    error: Option<HistogramError>,
}

/// A second that some workers have reported.
#[derive(Default)]
struct Second {
    workers: usize,
    recordings: BTreeMap<Metric, Recording>,
}

impl HdrLog<'_> {
    /// Adds a second of one worker. A mistake is kept for the end: it does not stop the load.
    pub fn add(&mut self, interval: &Interval) {
        let second = self.open.entry(interval.second).or_default();
        second.workers += 1;
        for (metric, _, recording) in interval
            .recordings()
            .filter(|(metric, ..)| METRICS.contains(metric))
        {
            match second.recordings.get_mut(&metric) {
                Some(sum) => sum.add(recording),
                None => {
                    second.recordings.insert(metric, recording.clone());
                }
            }
        }
        while self.is_first_complete() || self.open.len() > SECONDS_OPEN {
            self.write_first();
        }
    }

    fn is_first_complete(&self) -> bool {
        let first = self.open.first_key_value();
        first.is_some_and(|(_, second)| second.workers >= self.workers)
    }

    /// Writes the rest.
    pub fn end(mut self) -> Result<(), HistogramError> {
        while !self.open.is_empty() {
            self.write_first();
        }
        self.error.map_or(Ok(()), Err)
    }

    fn write_first(&mut self) {
        let Some((number, second)) = self.open.pop_first() else {
            return;
        };
        for (metric, recording) in second.recordings {
            let began = Duration::from_secs(number.into());
            let second = Duration::from_secs(1);
            let written = self
                .log
                .write(metric.as_str(), began, second, &recording.histogram);
            if let Err(error) = written {
                self.error.get_or_insert(error);
            }
        }
    }
}
