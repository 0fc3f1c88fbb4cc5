//! A synthetic run with known numbers, written to a store and read back.

pub mod gates;
pub mod runs;

use std::collections::BTreeMap;

use gatebench_model::{Plan, Shape, Trial};
use gatebench_store::{
    Counts, EngineFacts, ExactSum, FileDigest, GatewayFacts, GatewayIdentity, Histogram,
    LedgerDelta, MachineFacts, Manifest, Outcome, ParityCaseRecord, ParityRecord, PhaseRecord, Run,
    RunWriter, SeriesRow, SeriesUsage, TaggedInterval, TraceCounts, TrialRecord, Usage,
};
use gatebench_studies::Findings;
use gatebench_studies::analyse;
use gatebench_studies::common::facts::{TrialFindings, VariantRow};
use serde_json::json;
use tempfile::TempDir;

pub const SECONDS: u64 = 10;
pub const SECOND_NS: u64 = 1_000_000_000;
pub const RATE: u64 = 5_000;

/// A trial before it is stored, which tests may change.
pub struct Made {
    pub record: TrialRecord,
    pub intervals: Vec<TaggedInterval>,
    pub rows: Vec<SeriesRow>,
}

impl Made {
    pub fn is(&self, variant: &str) -> bool {
        self.record.trial.variant == variant
    }

    pub fn phase(&mut self, name: &str) -> &mut PhaseRecord {
        self.record
            .phases
            .iter_mut()
            .find(|phase| phase.name == name)
            .unwrap()
    }

    pub fn closed(&mut self) -> &mut PhaseRecord {
        self.phase("saturate")
    }

    pub fn open(&mut self) -> &mut PhaseRecord {
        self.phase("steady")
    }

    pub fn used(&mut self, phase: &str, component: &str) -> &mut Usage {
        self.phase(phase).usage.entry(component.into()).or_default()
    }

    /// Replaces the histogram and the sums of a metric.
    pub fn record_values(&mut self, phase: &str, metric: &str, values: &[(u64, u64)]) {
        let tag = format!("{phase}.{metric}.2xx");
        self.intervals.retain(|interval| interval.tag != tag);
        let mut histogram = Histogram::new_with_bounds(1, 60 * SECOND_NS, 3).unwrap();
        let mut sum = ExactSum {
            min_ns: u64::MAX,
            ..ExactSum::default()
        };
        for (value, count) in values {
            histogram.record_n(*value, *count).unwrap();
            sum.count += count;
            sum.sum_ns += value * count;
            sum.min_ns = sum.min_ns.min(*value);
            sum.max_ns = sum.max_ns.max(*value);
        }
        self.phase(phase).sums.insert(format!("{metric}.2xx"), sum);
        let (start_ns, duration_ns) = (0, SECONDS * SECOND_NS);
        self.intervals.push(TaggedInterval {
            tag,
            start_ns,
            duration_ns,
            histogram,
        });
    }
}

struct Numbers {
    /// Requests per second in the closed load.
    capacity: u64,
    /// CPU time of the gateway per request at the fixed rate.
    cpu_ns: u64,
    /// Added latency of 98 of 100 requests, and of the other two.
    added_ns: [u64; 2],
    /// Response time of 98 of 100 requests, and of the other two.
    response_ns: [u64; 2],
}

fn numbers(variant: &str, block: u32) -> Numbers {
    let block = u64::from(block);
    match variant {
        "direct" => Numbers {
            capacity: 100_000,
            cpu_ns: 0,
            added_ns: [12_000, 30_000],
            response_ns: [100_000, 200_000],
        },
        "nginx" => Numbers {
            capacity: 39_000 + 1_000 * block,
            cpu_ns: 24_000 + 100 * block,
            added_ns: [50_000, 125_000],
            response_ns: [140_000, 300_000],
        },
        _ => Numbers {
            capacity: 49_000 + 1_000 * block,
            cpu_ns: 18_000 + 100 * block,
            added_ns: [60_000, 150_000],
            response_ns: [150_000, 320_000],
        },
    }
}

pub fn manifest(blocks: u32) -> Manifest {
    let scenario = json!({
        "scenario": "proxy-json", "title": "Proxying", "upstream": "go-bench",
        "routes": [{ "name": "json", "path": "/" }],
        "requests": [{ "path": "/json" }],
        "parity": [{ "name": "answers", "request": { "path": "/json" }, "reaches_upstream": true }]
    });
    let gateway = |name| json!({ "kind": "gateway", "name": name, "folder": name });
    let mut manifest: Manifest = serde_json::from_value(json!({
        "schema": 1, "gatebench": "0.1.0", "created": "2026-01-02T03:04:05Z",
        "status": "finished", "command": ["gatebench", "run", "--out", "my run"],
        "engine_backend": "epoll",
        "environment": {
            "cpu": { "model": "a cpu", "cores": 2, "flags": ["a", "b"] },
            "disks": [{ "name": "x" }], "nothing": null
        },
        "notes": ["A note of the run."],
        "plan": {
            "suite": "tour", "title": "A tour", "seed": 7, "blocks": blocks,
            "scenarios": [scenario],
            "load": { "profile": "both", "title": "Both", "phases": [
                { "name": "saturate", "closed": { "connections": 64 }, "measure": "10s" },
                { "name": "steady", "open": { "rate_per_second": 5000.0 }, "measure": "10s" }
            ] },
            "variants": [{ "kind": "direct" }, gateway("nginx"), gateway("haproxy")],
            "placement": {
                "gateway": [1], "engine": [0], "upstream": [0],
                "note": "The load generator and the upstream share core 0."
            },
            "trials": []
        }
    }))
    .unwrap();
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    let identity = GatewayIdentity {
        title: "nginx".into(),
        version: "1.22.1".into(),
        binary: "/usr/sbin/nginx".into(),
        sha256: "00".into(),
        folder: vec![],
        notes: vec![],
    };
    manifest.gateways.insert("nginx".into(), identity);
    manifest
}

/// The trials of a plan: in each block, every scenario with every variant.
pub fn every_cell(plan: &Plan, blocks: u32) -> Vec<Trial> {
    let mut trials = Vec::new();
    for block in 1..=blocks {
        for scenario in &plan.scenarios {
            for (variant, number) in plan.variants.iter().zip(trials.len() as u32 + 1..) {
                trials.push(Trial {
                    number,
                    block,
                    scenario: scenario.scenario.clone(),
                    variant: variant.label().to_owned(),
                    again: None,
                });
            }
        }
    }
    trials
}

fn usage(cpu_ns: u64) -> Usage {
    Usage {
        cpu_ns,
        window_ns: SECONDS * SECOND_NS,
        rss_anon_bytes_max: 8 << 20,
        processes: 2,
        ..Usage::default()
    }
}

fn phase(name: &str, shape: Shape, rate: u64, began_ns: u64, gateway_ns: u64) -> PhaseRecord {
    let requests = rate * SECONDS;
    let busy_ns = if name == "saturate" {
        3 * SECOND_NS
    } else {
        SECOND_NS / 2
    };
    let mut by_component = BTreeMap::from([
        ("engine".to_owned(), usage(busy_ns)),
        ("upstream".to_owned(), usage(busy_ns)),
    ]);
    if gateway_ns > 0 {
        by_component.insert("gateway".to_owned(), usage(gateway_ns));
    }
    PhaseRecord {
        name: name.into(),
        shape,
        began_ns,
        warm_up_ns: SECOND_NS,
        measure_ns: SECONDS * SECOND_NS,
        drained_ns: 1_000_000,
        agents: None,
        counts: Counts {
            intended: requests,
            sent: requests,
            completed: requests,
            completed_in_window: requests,
            by_class: BTreeMap::from([("2xx".into(), requests)]),
            connections_opened: 64,
            bytes_sent: requests * 80,
            bytes_received: requests * 200,
            ..Counts::default()
        },
        groups: Vec::new(),
        connects: None,
        resumed: None,
        sums: BTreeMap::new(),
        trace: TraceCounts {
            traced: requests,
            ..TraceCounts::default()
        },
        engine: EngineFacts {
            backend: "epoll".into(),
            workers: 1,
            cpu_ns: busy_ns,
            run_queue_wait_ns: 0,
        },
        usage: by_component,
        machine: MachineFacts {
            window_ns: SECONDS * SECOND_NS,
            cores: 2,
            ..MachineFacts::default()
        },
        wire: None,
        change: None,
        failure: None,
        side_by_side: false,
        own_metrics: None,
        admin: None,
        settled: None,
        ceiling: None,
        external: None,
        profile: None,
        adaptive_warm_up: None,
        bins: None,
        step: None,
        saturation_percent: None,
        ledger: LedgerDelta {
            requests,
            unique: requests,
            repeated: 0,
            connections_accepted: 64,
        },
    }
}

fn parity() -> ParityRecord {
    let case = ParityCaseRecord {
        name: "answers".into(),
        passed: true,
        reached_upstream: true,
        ..ParityCaseRecord::default()
    };
    ParityRecord {
        cases: vec![case],
        routes_expected: 1,
        routes_answering: 1,
    }
}

fn gateway_facts() -> GatewayFacts {
    GatewayFacts {
        version: "1.22.1".into(),
        binary: "/usr/sbin/nginx".into(),
        sha256: "00".into(),
        commands: vec![vec!["nginx".into(), "-g".into(), "daemon off;".into()]],
        rendered: vec![FileDigest::of("nginx.conf", b"events {}")],
        workers: 1,
        processes: 2,
        processes_ended: 0,
        access_log_lines: None,
        error_log: None,
        limits: gatebench_model::Limits::default(),
        limited_by: None,
        started_in_ms: 12,
        first_correct: None,
        stopped: "on SIGTERM after 3 ms".into(),
    }
}

pub fn made(manifest: &Manifest, trial: &Trial) -> Made {
    let numbers = numbers(&trial.variant, trial.block);
    let direct = trial.variant == "direct";
    let shapes: Vec<_> = manifest
        .plan
        .load
        .phases
        .iter()
        .map(|phase| phase.shape.clone())
        .collect();
    let closed_cpu_ns = if direct {
        0
    } else {
        99 * SECONDS * SECOND_NS / 100
    };
    let open_cpu_ns = numbers.cpu_ns * RATE * SECONDS;
    let mut made = Made {
        record: TrialRecord {
            schema: 1,
            trial: trial.clone(),
            started: "2026-01-02T03:04:06Z".parse().unwrap(),
            finished: "2026-01-02T03:04:30Z".parse().unwrap(),
            outcome: Outcome::Completed,
            parity_before: (!direct).then(parity),
            parity_after: (!direct).then(parity),
            buffering: None,
            gateway: (!direct).then(gateway_facts),
            phases: vec![
                phase(
                    "saturate",
                    shapes[0].clone(),
                    numbers.capacity,
                    SECOND_NS,
                    closed_cpu_ns,
                ),
                phase(
                    "steady",
                    shapes[1].clone(),
                    RATE,
                    12 * SECOND_NS,
                    open_cpu_ns,
                ),
            ],
            admin: None,
            clock_source: None,
            warnings: vec![],
        },
        intervals: vec![],
        rows: rows(&numbers, direct),
    };
    let closed = numbers.capacity * SECONDS;
    made.record_values(
        "saturate",
        "response",
        &[(64 * SECOND_NS / numbers.capacity, closed)],
    );
    let split = |[most, few]: [u64; 2]| [(most, 49_000), (few, 1_000)];
    made.record_values("steady", "added", &split(numbers.added_ns));
    made.record_values("steady", "response", &split(numbers.response_ns));
    made.record_values("steady", "service", &split(numbers.response_ns));
    made.record_values("steady", "lateness", &[(5_000, 50_000)]);
    made
}

fn rows(numbers: &Numbers, direct: bool) -> Vec<SeriesRow> {
    let row = |phase: &str, second, completed, p50| SeriesRow {
        phase: phase.into(),
        second,
        completed,
        failed: 0,
        response_p50_ns: Some(p50),
        response_p99_ns: Some(2 * p50),
        own_requests: None,
        pools: BTreeMap::new(),
        own_series: BTreeMap::new(),
        gateway: (!direct).then(|| SeriesUsage {
            cpu_ns: SECOND_NS / 2,
            rss_anon_bytes: 8 << 20,
            ..SeriesUsage::default()
        }),
        engine: Some(SeriesUsage {
            cpu_ns: SECOND_NS / 4,
            ..SeriesUsage::default()
        }),
        upstream: None,
    };
    let closed = |second| {
        row(
            "saturate",
            second,
            numbers.capacity,
            64 * SECOND_NS / numbers.capacity,
        )
    };
    let open = |second| row("steady", second, RATE, numbers.response_ns[0]);
    (0..SECONDS as u32)
        .map(closed)
        .chain((0..SECONDS as u32).map(open))
        .collect()
}

/// Writes a run with all trials of the plan, reads it back and analyzes it. `change` changes each
/// trial, or returns `None` to leave it out.
pub fn analysed_run(
    manifest: Manifest,
    change: impl Fn(Made) -> Option<Made>,
) -> (TempDir, Findings) {
    let dir = TempDir::new().unwrap();
    let status = manifest.status;
    let mut writer = RunWriter::create(dir.path(), manifest.clone()).unwrap();
    for trial in &manifest.plan.trials {
        let Some(made) = change(made(&manifest, trial)) else {
            continue;
        };
        let open = writer.begin_trial(trial).unwrap();
        std::fs::write(open.gateway_folder().join("nginx.conf"), "events {}").unwrap();
        open.finish(made.record, &made.intervals, &made.rows)
            .unwrap();
    }
    writer.set_status(status).unwrap();
    let findings = analyse(&Run::open(dir.path()).unwrap()).unwrap();
    (dir, findings)
}

pub fn three_blocks(change: impl Fn(&mut Made)) -> Findings {
    let changed = |mut made: Made| {
        change(&mut made);
        Some(made)
    };
    analysed_run(manifest(3), changed).1
}

pub fn row<'a>(findings: &'a Findings, variant: &str) -> &'a VariantRow {
    findings.scenarios[0]
        .rows
        .iter()
        .find(|row| row.variant == variant)
        .unwrap()
}

/// The first trial of a variant.
pub fn trial<'a>(findings: &'a Findings, variant: &str) -> &'a TrialFindings {
    findings
        .trials
        .iter()
        .find(|trial| trial.variant == variant)
        .unwrap()
}

/// The value that a histogram with three digits reports for a recorded value.
pub fn as_recorded(value: u64) -> f64 {
    Histogram::<u64>::new_with_bounds(1, 60 * SECOND_NS, 3)
        .unwrap()
        .highest_equivalent(value) as f64
}
