//! Creates runs of one gateway for the tests.

use gatebench_model::Trial;
use gatebench_store::{
    Histogram, Manifest, Outcome, PhaseRecord, RunWriter, TaggedInterval, TrialRecord,
};
use serde_json::json;
use tempfile::TempDir;

pub fn manifest() -> Manifest {
    serde_json::from_value(json!({
        "schema": 1,
        "gatebench": "0.1.0",
        "created": "2026-01-02T03:04:05Z",
        "status": "running",
        "command": ["gatebench", "run", "--out", "my run"],
        "engine_backend": "epoll",
        "environment": { "cpu": { "model": "a cpu" } },
        "plan": {
            "suite": "tour", "title": "A tour", "seed": 7, "blocks": 1,
            "scenarios": [],
            "load": { "profile": "one", "title": "One", "phases": [] },
            "variants": [{ "kind": "direct" }],
            "placement": { "gateway": [1], "engine": [0], "upstream": [0], "note": "shared" },
            "trials": []
        }
    }))
    .unwrap()
}

pub fn trial(number: u32) -> Trial {
    Trial {
        number,
        block: 1,
        scenario: "proxy-json".into(),
        variant: "nginx".into(),
        again: None,
    }
}

pub fn phase(name: &str, began_ns: u64) -> PhaseRecord {
    serde_json::from_value(json!({
        "name": name, "shape": { "closed": { "connections": 64 } }, "began_ns": began_ns,
        "warm_up_ns": 0, "measure_ns": 2_000_000_000_u64, "drained_ns": 0,
        "counts": {
            "intended": 10, "sent": 10, "completed": 10, "completed_in_window": 10, "dropped": 0,
            "queued_max": 0, "connections_opened": 1, "bytes_sent": 0, "bytes_received": 0
        }
    }))
    .unwrap()
}

pub fn record(number: u32, outcome: Outcome) -> TrialRecord {
    TrialRecord {
        schema: 0,
        trial: trial(number),
        started: "2026-01-02T03:04:06Z".parse().unwrap(),
        finished: "2026-01-02T03:04:16Z".parse().unwrap(),
        outcome,
        parity_before: None,
        parity_after: None,
        buffering: None,
        gateway: None,
        phases: vec![phase("steady", 1_500_000_000)],
        admin: None,
        clock_source: None,
        warnings: vec![],
    }
}

pub fn interval(second: u64, values: &[u64]) -> TaggedInterval {
    let mut histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    for value in values {
        histogram.record(*value).unwrap();
    }
    TaggedInterval {
        tag: "steady.response.2xx".into(),
        start_ns: second * 1_000_000_000,
        duration_ns: 1_000_000_000,
        histogram,
    }
}

pub fn run_with_a_trial() -> (TempDir, RunWriter) {
    let dir = TempDir::new().unwrap();
    let writer = RunWriter::create(dir.path(), manifest()).unwrap();
    let open = writer.begin_trial(&trial(1)).unwrap();
    open.finish(record(1, Outcome::Completed), &[], &[])
        .unwrap();
    (dir, writer)
}
