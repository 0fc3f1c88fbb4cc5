//! Reads and writes `live.jsonl` in the folder of a trial. While the trial runs, its events are
//! appended to the file, one per line. The file is removed once the trial has ended and its record
//! is written; a killed run leaves the file behind. Reports do not read it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::below::Below;
use crate::run::TRIALS;

pub(crate) const LIVE: &str = "live.jsonl";

/// From this second on, only one second of each minute is written, so that the file of a long soak
/// stays small.
const SECONDS_MAX: u32 = 86_400;
const THEN_EVERY: u32 = 60;

/// The maximum number of bytes that one call of [`LiveReader::follow`] reads.
const READ_MAX: u64 = 32 << 20;

/// An event of a trial: one line of `live.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LiveEvent {
    Trial {
        began: Timestamp,
        /// The expected duration of this and all remaining trials.
        left_seconds: f64,
    },
    Step {
        step: String,
    },
    Phase {
        phase: String,
    },
    WarmUp {
        /// The current number of responses per second.
        completed_per_second: f64,
        /// The number of requests so far that ended without a complete response.
        failed: u64,
    },
    Second(LiveSecond),
}

/// One second of a load's measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveSecond {
    pub phase: String,
    /// The second of the measurement, counted from 0.
    pub second: u32,
    /// The number of responses completed in the second.
    pub completed: u64,
    /// The number of requests that failed in the second, without a complete response or with a
    /// failed check.
    pub failed: u64,
    /// The median response time; `None` with too few responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p50_ns: Option<u64>,
    /// The 99th percentile of the response time; `None` with too few responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p99_ns: Option<u64>,
}

/// Appends the events of a trial.
#[derive(Debug)]
pub struct LiveWriter {
    file: File,
}

impl LiveWriter {
    pub(crate) fn create(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LIVE);
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create_new(true)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path);
        let file = file.map_err(|error| StoreError::io("create", path, error))?;
        Ok(Self { file })
    }

    /// Appends an event as one line. After the first day of a load, omits all but one second of
    /// each minute.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, event: &LiveEvent) -> io::Result<()> {
        if let LiveEvent::Second(it) = event
            && it.second >= SECONDS_MAX
            && it.second % THEN_EVERY != 0
        {
            return Ok(());
        }
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// Follows the events of a trial.
#[derive(Debug)]
pub struct LiveReader {
    file: Below,
    /// The number of bytes read so far.
    offset: u64,
}

impl LiveReader {
    /// Creates a reader at the beginning of a trial's events. `trial` is the name of the trial's
    /// folder.
    pub fn new(dir: &Path, trial: &str) -> Self {
        let file = Below::run(dir).join(TRIALS).join(trial).join(LIVE);
        Self { file, offset: 0 }
    }

    /// Returns the events since the last call, from at most `READ_MAX` bytes; empty if the file
    /// does not exist. If the file has become shorter because the trial is being repeated, reading
    /// starts again at its beginning. Lines that are not events of a known kind are left out.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the file is not a regular file; [`StoreError::Link`],
    /// [`StoreError::Io`].
    pub fn follow(&mut self) -> Result<Vec<LiveEvent>, StoreError> {
        let Some(mut file) = self.file.file()? else {
            return Ok(Vec::new());
        };
        let failed = |error| StoreError::io("read", self.file.path(), error);
        if file.metadata().map_err(failed)?.len() < self.offset {
            self.offset = 0;
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.offset))
            .and_then(|_| file.take(READ_MAX).read_to_end(&mut bytes))
            .map_err(failed)?;
        // The last line may be incomplete.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole.map_or(0, |end| end + 1));
        self.offset += bytes.len() as u64;
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}
