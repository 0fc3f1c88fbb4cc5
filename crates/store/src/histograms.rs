//! Reads and writes `histograms.hlog`, an interval log with tags in the standard HdrHistogram
//! format.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError,
    LogEntry, LogIteratorError, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::below::Below;
use crate::{StoreError, TrialRecord, atomic};

const FILE: &str = "histograms.hlog";

/// The histogram of one second (or another interval) of a phase, for one metric and status class.
#[derive(Clone, Debug)]
pub struct TaggedInterval {
    /// `phase.metric.class`, such as `steady.response.2xx`.
    pub tag: String,
    /// The start of the interval, counted from the start of the phase's measurement.
    pub start_ns: u64,
    pub duration_ns: u64,
    /// The values in nanoseconds.
    pub histogram: Histogram<u64>,
}

/// An interval log that is being written, with one line per histogram.
pub struct HistogramLog<'a, W: Write> {
    log: IntervalLogWriter<'a, 'a, W, V2DeflateSerializer>,
}

/// The reason why a histogram cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Form(String),
}

impl<'a, W: Write> HistogramLog<'a, W> {
    /// Writes the header of a log whose times are relative to `started`.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn begin(
        out: &'a mut W,
        serializer: &'a mut V2DeflateSerializer,
        started: SystemTime,
    ) -> io::Result<Self> {
        let log = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("[Values are nanoseconds; the maximum of each line is in milliseconds]")
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(1e6)
            .begin_log_with(out, serializer)?;
        Ok(Self { log })
    }

    /// Writes the histogram of an interval. `began` is counted from the start of the log.
    ///
    /// # Errors
    /// The histogram or the output cannot be written.
    pub fn write(
        &mut self,
        tag: &str,
        began: Duration,
        length: Duration,
        histogram: &Histogram<u64>,
    ) -> Result<(), HistogramError> {
        let tag = Tag::new(tag);
        let written = self.log.write_histogram(histogram, began, length, tag);
        written.map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => HistogramError::Io(error),
            other => HistogramError::Form(other.to_string()),
        })
    }
}

pub(crate) fn write(
    folder: &Path,
    record: &TrialRecord,
    intervals: &[TaggedInterval],
) -> Result<(), StoreError> {
    let inconsistent = |reason| StoreError::Inconsistent {
        trial: record.trial.number,
        reason,
    };
    let path = folder.join(FILE);
    let mut text = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let started = SystemTime::from(record.started);
    let mut log = HistogramLog::begin(&mut text, &mut serializer, started)
        .map_err(|error| StoreError::io("write", &path, error))?;
    for interval in intervals {
        let tag = &interval.tag;
        let (phase, _) = split_tag(tag)
            .ok_or_else(|| inconsistent(format!("the tag '{tag}' is not phase.metric.class")))?;
        let began_ns = record
            .phases
            .iter()
            .find(|known| known.name == phase)
            .map(|phase| phase.began_ns)
            .ok_or_else(|| {
                inconsistent(format!(
                    "the tag '{tag}' names a phase that is not in the record"
                ))
            })?;
        log.write(
            tag,
            Duration::from_nanos(began_ns.saturating_add(interval.start_ns)),
            Duration::from_nanos(interval.duration_ns),
            &interval.histogram,
        )
        .map_err(|error| inconsistent(format!("the histogram '{tag}': {error}")))?;
    }
    atomic::write(&path, &text)
}

/// A histogram in a log: its tag, its start (counted from the start of the trial) and its values.
type Entry = (String, Duration, Histogram<u64>);

/// Reads a log, adding up the intervals of each tag.
pub(crate) fn read_merged(folder: &Below) -> Result<BTreeMap<String, Histogram<u64>>, StoreError> {
    let mut merged = BTreeMap::new();
    read(folder, |(tag, _, histogram)| {
        add(&mut merged, &tag, histogram)
    })?;
    Ok(merged)
}

/// Reads a log without merging, with one entry for each interval and tag.
pub(crate) fn read_intervals(folder: &Below) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    read(folder, |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

/// Passes each entry of a log to `take`. Does nothing if there is no log.
fn read(
    folder: &Below,
    mut take: impl FnMut(Entry) -> Result<(), String>,
) -> Result<(), StoreError> {
    let file = folder.join(FILE);
    let Some(text) = file.read()? else {
        return Ok(());
    };
    let corrupt = |reason| StoreError::corrupt(file.path(), reason);
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(&text) {
        let entry = entry.map_err(|LogIteratorError::ParseError { offset }| {
            corrupt(format!("it is not an interval log from byte {offset} on"))
        })?;
        let LogEntry::Interval(interval) = entry else {
            continue;
        };
        let tag = interval.tag().map(|tag| tag.as_str()).unwrap_or_default();
        let histogram = decode(&mut deserializer, interval.encoded_histogram())
            .map_err(|reason| corrupt(format!("the histogram '{tag}': {reason}")))?;
        take((tag.to_owned(), interval.start_timestamp(), histogram)).map_err(corrupt)?;
    }
    Ok(())
}

/// Splits `phase.metric.class` into the phase and the rest. Returns `None` if the text has fewer
/// parts or cannot be a tag in a log.
fn split_tag(tag: &str) -> Option<(&str, &str)> {
    let (phase, rest) = tag.split_once('.')?;
    Tag::new(tag)?;
    rest.split_once('.').map(|_| (phase, rest))
}

fn decode(deserializer: &mut Deserializer, encoded: &str) -> Result<Histogram<u64>, String> {
    let bytes = BASE64_STANDARD
        .decode(encoded)
        .map_err(|error| error.to_string())?;
    deserializer
        .deserialize(&mut &bytes[..])
        .map_err(|error| error.to_string())
}

/// Adds a histogram to the sum for its tag. The sum may have to grow, because an encoded histogram
/// is only as long as its largest value requires.
fn add(
    merged: &mut BTreeMap<String, Histogram<u64>>,
    tag: &str,
    mut histogram: Histogram<u64>,
) -> Result<(), String> {
    match merged.get_mut(tag) {
        Some(sum) => sum
            .add(histogram)
            .map_err(|error| format!("the histograms '{tag}' cannot be added: {error}")),
        None => {
            histogram.auto(true);
            merged.insert(tag.to_owned(), histogram);
            Ok(())
        }
    }
}
