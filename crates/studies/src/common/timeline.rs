//! The timeline of a trial, in seconds.

use gatebench_store::{SeriesRow, SeriesUsage, TrialRecord};

use super::context::{is_a_load, kind};
use super::facts::{TimelinePhase, TimelineSecond};

/// The timeline of a trial, phase by phase. It leaves out the steps of a search, which are on its
/// curve.
pub(crate) fn of(record: &TrialRecord, series: &[SeriesRow]) -> Vec<TimelinePhase> {
    let loads = record.phases.iter().filter(|phase| is_a_load(phase));
    let phases = loads.map(|phase| TimelinePhase {
        phase: phase.name.clone(),
        kind: kind(phase),
        began_ns: phase.began_ns,
        seconds: series
            .iter()
            .filter(|row| row.phase == phase.name)
            .map(second)
            .collect(),
    });
    phases.collect()
}

fn second(row: &SeriesRow) -> TimelineSecond {
    let cores = |usage: Option<SeriesUsage>| usage.map(|usage| usage.cpu_ns as f64 / 1e9);
    TimelineSecond {
        second: row.second,
        completed: row.completed,
        failed: row.failed,
        response_p50_ns: row.response_p50_ns,
        response_p99_ns: row.response_p99_ns,
        gateway_cores: cores(row.gateway),
        gateway_rss_anon_bytes: row.gateway.map(|usage| usage.rss_anon_bytes),
        engine_cores: cores(row.engine),
        upstream_cores: cores(row.upstream),
    }
}
