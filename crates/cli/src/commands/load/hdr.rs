//! `--hdr`: an HdrHistogram interval log with a line for each second and metric.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gatebench_engine::{Interval, Metric};
use gatebench_store::{HistogramError, HistogramLog};
use hdrhistogram::serialization::V2DeflateSerializer;

use super::figures::Times;
use super::unwritable;
use crate::failure::Failure;

const FLAG: &str = "--hdr";
const METRICS: [Metric; 3] = [Metric::Response, Metric::Service, Metric::Lateness];

/// The file of an interval log.
pub struct HdrFile {
    path: PathBuf,
    out: BufWriter<File>,
    serializer: V2DeflateSerializer,
}

impl HdrFile {
    /// Creates the file before the load begins, so that an error is reported early.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| unwritable(FLAG, path, error))?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            serializer: V2DeflateSerializer::new(),
        })
    }

    pub fn begin(&mut self) -> Result<HdrLog<'_>, Failure> {
        let log = HistogramLog::begin(&mut self.out, &mut self.serializer, SystemTime::now())
            .map_err(|error| unwritable(FLAG, &self.path, error))?;
        Ok(HdrLog { log, error: None })
    }

    /// Flushes the file. If writing the log has already failed, returns the error in `written`
    /// instead.
    pub fn finish(mut self, written: Result<(), HistogramError>) -> Result<(), Failure> {
        let flushed = written.and_then(|()| self.out.flush().map_err(HistogramError::Io));
        flushed.map_err(|error| unwritable(FLAG, &self.path, error))
    }
}

/// The log of a running load.
pub struct HdrLog<'a> {
    log: HistogramLog<'a, BufWriter<File>>,
    error: Option<HistogramError>,
}

impl HdrLog<'_> {
    /// Writes the times of one second. An error must not stop the load: [`HdrLog::end`] returns the
    /// first error.
    pub fn write(&mut self, interval: &Interval) {
        let began = Duration::from_secs(interval.second.into());
        let length = Duration::from_secs(1);
        for metric in METRICS {
            let times = Times::of_second(interval, metric);
            let Some(recording) = times.recording() else {
                continue;
            };
            let word = metric.as_str();
            let written = self.log.write(word, began, length, &recording.histogram);
            if let Err(error) = written {
                self.error.get_or_insert(error);
            }
        }
    }

    pub fn end(self) -> Result<(), HistogramError> {
        self.error.map_or(Ok(()), Err)
    }
}
