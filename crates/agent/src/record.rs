//! The record of one second of a load generator, as sent to the coordinator. It contains counts,
//! and histograms in the compressed format of HdrHistogram (V2).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use gatebench_engine::{Class, Counts, Halves, Interval, Metric, Recording};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WireRecording {
    /// The histogram in the V2 format, deflated and encoded in base64 without padding.
    histogram: String,
    /// The exact sum in nanoseconds, as text because it may exceed 64 bits.
    sum_ns: String,
    min_ns: u64,
    max_ns: u64,
    clamped: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("a histogram cannot be read: {0}")]
pub(crate) struct Unreadable(String);

impl WireRecording {
    pub(crate) fn of<C: Counter>(recording: &Recording<C>) -> Self {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&recording.histogram, &mut bytes)
            .expect("writing to memory does not fail");
        Self {
            histogram: STANDARD_NO_PAD.encode(bytes),
            sum_ns: recording.sum_ns.to_string(),
            min_ns: recording.min_ns,
            max_ns: recording.max_ns,
            clamped: recording.clamped,
        }
    }

    pub(crate) fn read<C: Counter>(&self) -> Result<Recording<C>, Unreadable> {
        let bytes = STANDARD_NO_PAD.decode(&self.histogram);
        let bytes = bytes.map_err(|error| Unreadable(error.to_string()))?;
        let histogram: Histogram<C> = Deserializer::new()
            .deserialize(&mut &bytes[..])
            .map_err(|error| Unreadable(error.to_string()))?;
        let sum_ns = self.sum_ns.parse();
        Ok(Recording {
            histogram,
            sum_ns: sum_ns
                .map_err(|_| Unreadable(format!("the sum '{}' is not a number", self.sum_ns)))?,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            clamped: self.clamped,
        })
    }
}

pub(crate) type WireRecordings = Vec<(Metric, Class, WireRecording)>;

/// A second of a load generator, merged over its workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) second: u32,
    pub(crate) counts: Counts,
    busy: u64,
    halves: Halves,
    statuses: BTreeMap<u16, u64>,
    recordings: WireRecordings,
    cpu_ns: u64,
    run_queue_wait_ns: u64,
}

impl Record {
    pub(crate) fn of(interval: &Interval) -> Self {
        let recordings = interval.recordings();
        Self {
            second: interval.second,
            counts: interval.counts.clone(),
            busy: interval.busy,
            halves: interval.halves,
            statuses: interval.statuses().collect(),
            recordings: recordings
                .map(|(metric, class, it)| (metric, class, WireRecording::of(it)))
                .collect(),
            cpu_ns: interval.cpu_ns,
            run_queue_wait_ns: interval.run_queue_wait_ns,
        }
    }

    pub(crate) fn read(&self) -> Result<Interval, Unreadable> {
        let mut interval = Interval::new(self.counts.checks_failed.len());
        interval.second = self.second;
        interval.counts = self.counts.clone();
        interval.busy = self.busy;
        interval.halves = self.halves;
        for (status, count) in &self.statuses {
            interval.set_status(*status, *count);
        }
        for (metric, class, recording) in &self.recordings {
            interval.add_recording(*metric, *class, &recording.read()?);
        }
        interval.cpu_ns = self.cpu_ns;
        interval.run_queue_wait_ns = self.run_queue_wait_ns;
        Ok(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_survives_the_round_trip() {
        let mut interval = Interval::new(2);
        interval.second = 7;
        interval.counts.sent = 3;
        interval.counts.checks_failed[1] = 2;
        interval.busy = 4;
        interval.cpu_ns = 5;
        interval.set_status(204, 3);
        for response_ns in [1_000, 2_000_000, 70_000_000_000] {
            interval.record(Class::Success, response_ns, response_ns - 1, 1);
        }
        interval.record(Class::Failed, 3, 2, 1);
        interval.record_trace(Class::Success, [10, 20, 30]);
        let text = serde_json::to_string(&Record::of(&interval)).unwrap();
        let read = serde_json::from_str::<Record>(&text)
            .unwrap()
            .read()
            .unwrap();
        assert_eq!(shown(&read), shown(&interval));
        // The coordinator adds up the intervals of all agents.
        interval.add(&read);
        assert_eq!(interval.counts.sent, 6);
    }

    /// The fields of an interval, except its halves and the wait in the run queue. Histograms are
    /// represented by their counts, because their capacities may differ.
    fn shown(interval: &Interval) -> String {
        let recordings = interval.recordings().map(|(metric, class, it)| {
            let values: Vec<_> = it
                .histogram
                .iter_recorded()
                .map(|it| (it.value_iterated_to(), it.count_at_value()))
                .collect();
            let exact = (it.sum_ns, it.min_ns, it.max_ns, it.clamped);
            (metric, class, values, exact)
        });
        let recordings: Vec<_> = recordings.collect();
        let statuses: Vec<_> = interval.statuses().collect();
        format!(
            "{} {:?} {} {} {statuses:?} {recordings:?}",
            interval.second, interval.counts, interval.busy, interval.cpu_ns
        )
    }

    #[test]
    fn a_damaged_histogram_is_an_error() {
        let mut record = Record::of(&Interval::new(0));
        let mut interval = Interval::new(0);
        interval.record(Class::Success, 5, 5, 5);
        record.recordings = Record::of(&interval).recordings;
        record.recordings[0].2.histogram.truncate(9);
        assert!(
            record
                .read()
                .unwrap_err()
                .to_string()
                .contains("cannot be read")
        );
    }
}
