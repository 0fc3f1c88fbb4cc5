//! Findings of an invented run: the direct variant and three gateways, two scenarios, three blocks,
//! a closed and an open load. A small generator with a fixed seed varies the numbers.

use std::collections::BTreeMap;

use super::facts::*;
use gatebench_studies::{Findings, StudyResult};

use super::{summary, wire};

const BLOCKS: u32 = 3;
const SECOND_NS: u64 = 1_000_000_000;

/// The figures of a variant before noise is added.
struct Character {
    name: &'static str,
    title: &'static str,
    version: &'static str,
    throughput: f64,
    cpu_ns: Option<f64>,
    response_ns: f64,
    added_ns: f64,
    tail: f64,
}

const CHARACTERS: [Character; 4] = [
    Character {
        name: "direct",
        title: "",
        version: "",
        throughput: 118_400.0,
        cpu_ns: None,
        response_ns: 46_000.0,
        added_ns: 38_000.0,
        tail: 0.5,
    },
    Character {
        name: "gatebench",
        title: "gatebench reference gateway",
        version: "0.1.0",
        throughput: 61_300.0,
        cpu_ns: Some(11_900.0),
        response_ns: 83_000.0,
        added_ns: 74_000.0,
        tail: 0.55,
    },
    Character {
        name: "nginx",
        title: "nginx",
        version: "nginx/1.22.1",
        throughput: 41_700.0,
        cpu_ns: Some(19_800.0),
        response_ns: 104_000.0,
        added_ns: 95_000.0,
        tail: 0.75,
    },
    Character {
        name: "haproxy",
        title: "HAProxy",
        version: "2.6.12-1+deb12u2",
        throughput: 38_200.0,
        cpu_ns: Some(22_600.0),
        response_ns: 112_000.0,
        added_ns: 102_000.0,
        tail: 0.66,
    },
];

const SCENARIOS: [(&str, &str, f64); 2] = [
    ("proxy-json", "A small JSON body through the gateway", 1.0),
    ("api-key-json", "The same behind an API key", 1.07),
];

/// A linear congruential generator (Knuth's MMIX constants); any generator would do.
struct Noise(u64);

impl Noise {
    /// A factor that differs from one by at most `share`.
    fn factor(&mut self, share: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let unit = (self.0 >> 40) as f64 / (1_u64 << 24) as f64;
        1.0 + share * (2.0 * unit - 1.0)
    }
}

pub fn findings() -> Findings {
    let mut noise = Noise(42);
    let scenarios: Vec<ScenarioFindings> = SCENARIOS
        .iter()
        .map(|scenario| self::scenario(*scenario, &mut noise))
        .collect();
    Findings {
        run: run(),
        headlines: headlines(),
        notes: vec![
            "3 blocks are too few for a verdict, which needs at least 10. The range of the blocks \
             is printed instead."
                .into(),
            "The load generator and the upstream share core 0.".into(),
        ],
        study: StudyResult::default(),
        costs: None,
        marginal_costs: Vec::new(),
        sections: Vec::new(),
        scenarios,
        trials: trials(&mut noise),
        missing: Vec::new(),
        failures: Vec::new(),
        parity: parity(),
        configurations: configurations(),
        environment: environment(),
    }
}

fn run() -> RunFacts {
    RunFacts {
        suite: "tour".into(),
        title: "The tour: what three gateways add to a small JSON response".into(),
        created: "2026-11-21T10:07:42.123456Z".parse().unwrap(),
        status: Status::Finished,
        gatebench: "0.1.0".into(),
        engine_backend: "io_uring".into(),
        seed: 42,
        is_smoke: false,
        blocks_planned: BLOCKS,
        blocks_complete: BLOCKS,
        trials_planned: 24,
        trials_finished: 24,
        placement: Placement {
            gateway: vec![1],
            engine: vec![0],
            upstream: vec![0],
            note: "On two cores, the gateway has one to itself, and the load generator and the \
                   upstream share the other. The throughput of a gateway that is too fast for this \
                   is limited; its CPU per request remains valid."
                .into(),
            gateway_is_elsewhere: false,
            siblings: vec![],
        },
        command: "gatebench run tour --seed 42 --out runs/2026-11-21-tour".into(),
        gateways: CHARACTERS[1..].iter().map(gateway).collect(),
    }
}

fn gateway(of: &Character) -> GatewayLine {
    GatewayLine {
        variant: of.name.into(),
        title: of.title.into(),
        version: of.version.into(),
        binary: format!("/usr/sbin/{}", of.name),
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
        notes: if of.name == "gatebench" {
            vec!["An instrument, not a product: it has no admin interface.".into()]
        } else {
            Vec::new()
        },
    }
}

fn headlines() -> Vec<Sentence> {
    let sentence = |text: &str, tone, scenario: Option<&str>, variant: Option<&str>| Sentence {
        text: text.into(),
        tone,
        scenario: scenario.map(Into::into),
        variant: variant.map(Into::into),
    };
    vec![
        sentence(
            "At 5,000 requests/s the reference gateway spends 11.9 µs of CPU per proxied request, \
             nginx 19.8 µs and HAProxy 22.6 µs.",
            Tone::Plain,
            None,
            None,
        ),
        sentence(
            "proxy-json: nginx handles 41.7k requests/s on one core at 64 connections, HAProxy \
             38.2k (39.1k–41.9k and 37.6k–38.9k over 3 blocks).",
            Tone::Plain,
            Some("proxy-json"),
            None,
        ),
        sentence(
            "gatebench is limited by the upstream in proxy-json: its 61.3k requests/s are a lower \
             bound.",
            Tone::Caution,
            Some("proxy-json"),
            Some("gatebench"),
        ),
        sentence(
            "api-key-json: the API key costs 0.8 to 1.6 µs of CPU per request and no latency that \
             3 blocks could show.",
            Tone::Plain,
            Some("api-key-json"),
            None,
        ),
    ]
}

fn phases() -> Vec<PhaseLine> {
    vec![
        PhaseLine {
            name: "saturate".into(),
            kind: PhaseKind::Closed,
            label: "64 connections, 4s".into(),
        },
        PhaseLine {
            name: "steady".into(),
            kind: PhaseKind::Open,
            label: "5,000 requests/s, 5s".into(),
        },
    ]
}

fn scenario((name, title, cost): (&str, &str, f64), noise: &mut Noise) -> ScenarioFindings {
    let rows = CHARACTERS.iter().map(|of| row(of, cost, noise)).collect();
    ScenarioFindings {
        name: name.into(),
        title: title.into(),
        phases: phases(),
        rows,
        curves: CHARACTERS.iter().flat_map(|of| curves(of, cost)).collect(),
        wire: CHARACTERS.iter().map(|of| wire::found(of.name)).collect(),
        null: None,
        groups: Vec::new(),
        routes: Vec::new(),
        external_results: Vec::new(),
        comparisons: Vec::new(),
        summary: None,
        sentences: vec![summary::parity_held(name)],
    }
}

fn row(of: &Character, cost: f64, noise: &mut Noise) -> VariantRow {
    let limited = of.name == "gatebench";
    let kind = if of.name == "direct" {
        Variant::Direct
    } else {
        Variant::gateway(of.name, of.name)
    };
    VariantRow {
        variant: of.name.into(),
        kind,
        status: RowStatus::Measured,
        validity: Some(if limited {
            Validity::Limited
        } else {
            Validity::Valid
        }),
        reasons: if limited {
            vec![near_direct()]
        } else {
            Vec::new()
        },
        spoiled: Vec::new(),
        metrics: metrics(of, cost, limited, noise),
    }
}

fn near_direct() -> Reason {
    Reason {
        gate: Gate::UpstreamNearDirect,
        validity: Validity::Limited,
        spoils: vec![Aspect::Throughput],
        phase: Some("saturate".into()),
        message: "61.3k requests/s are 73 % of what the load generator and the upstream reach \
                  without a gateway on the core they share."
            .into(),
        remedy: "Give the upstream its own core, or compare CPU per request, which remains valid."
            .into(),
    }
}

fn metrics(of: &Character, cost: f64, limited: bool, noise: &mut Noise) -> Vec<MetricFindings> {
    use Metric::*;
    use PhaseKind::{Closed, Open};
    let (response, added) = (of.response_ns * cost, of.added_ns * cost);
    let tail = |value: f64, nines: f64| value * (1.0 + of.tail * nines);
    let mut list = vec![
        (
            Closed,
            Throughput,
            Unit::RequestsPerSecond,
            of.throughput / cost,
            0.025,
        ),
        (Open, ResponseP50, Unit::Nanoseconds, response, 0.02),
        (
            Open,
            ResponseP99,
            Unit::Nanoseconds,
            tail(response, 3.0),
            0.12,
        ),
        (Open, AddedP50, Unit::Nanoseconds, added, 0.02),
        (Open, AddedP99, Unit::Nanoseconds, tail(added, 3.0), 0.12),
    ];
    if let Some(cpu) = of.cpu_ns {
        let memory = 4_200_000.0 + cpu * 100.0;
        list.push((Closed, GatewayStart, Unit::Nanoseconds, cpu * 1_100.0, 0.1));
        list.push((Open, GatewayRssAnonMax, Unit::Bytes, memory, 0.01));
        let unit = Unit::CpuNanosecondsPerRequest;
        list.insert(
            1,
            (Closed, GatewayCpuPerRequest, unit, cpu * cost * 0.82, 0.02),
        );
        list.insert(2, (Open, GatewayCpuPerRequest, unit, cpu * cost, 0.03));
    }
    list.into_iter()
        .map(|(kind, metric, unit, value, spread)| {
            let phase = if kind == Closed { "saturate" } else { "steady" };
            let validity = if limited && metric == Throughput {
                Validity::Limited
            } else {
                Validity::Valid
            };
            let values = [(); BLOCKS as usize].map(|()| (value * noise.factor(spread)).round());
            found(phase, (kind, metric, unit), validity, &values)
        })
        .collect()
}

fn found(
    phase: &str,
    (kind, metric, unit): (PhaseKind, Metric, Unit),
    validity: Validity,
    values: &[f64],
) -> MetricFindings {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    MetricFindings {
        phase: phase.into(),
        kind,
        metric,
        unit,
        estimate: Some(Estimate {
            median: sorted[sorted.len() / 2],
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            blocks: sorted.len(),
            interval: None,
        }),
        validity,
        blocks: (1..)
            .zip(values)
            .map(|(block, value)| BlockValue {
                block,
                trial: block,
                value: *value,
                validity,
            })
            .collect(),
    }
}

fn curves(of: &Character, cost: f64) -> Vec<PercentileCurve> {
    let curve = |metric, label: &str, middle: f64| PercentileCurve {
        variant: of.name.into(),
        phase: "steady".into(),
        kind: PhaseKind::Open,
        metric,
        label: label.into(),
        samples: 75_000,
        trusted_percentile: 99.986,
        blocks: vec![1, 2, 3],
        validity: Validity::Valid,
        points: points(middle * cost, of.tail),
    };
    vec![
        curve(CurveMetric::Response, "response time", of.response_ns),
        curve(CurveMetric::Added, "added latency", of.added_ns),
    ]
}

/// Points that rise gently in the middle and steeply above about the 97th percentile.
fn points(middle: f64, tail: f64) -> Vec<CurvePoint> {
    let at_nines = |nines: f64| {
        let body = 0.82 + 0.45 * nines.sqrt() * tail;
        let bend = if nines > 1.6 {
            (nines - 1.6).powi(2) * tail
        } else {
            0.0
        };
        (middle * (body + bend)) as u64
    };
    let marks = [50.0, 90.0, 99.0, 99.9, 99.99];
    let mut percentiles: Vec<f64> = (0..=80)
        .map(|step| 100.0 * (1.0 - 10_f64.powf(-f64::from(step) / 20.0)))
        .chain(marks)
        .collect();
    percentiles.sort_by(f64::total_cmp);
    percentiles
        .into_iter()
        .map(|percentile| CurvePoint {
            percentile,
            latency_ns: at_nines(-(1.0 - percentile / 100.0).log10()),
        })
        .collect()
}

fn trials(noise: &mut Noise) -> Vec<TrialFindings> {
    let mut trials = Vec::new();
    for block in 1..=BLOCKS {
        for (scenario, _, cost) in SCENARIOS {
            for of in &CHARACTERS {
                let number = trials.len() as u32 + 1;
                trials.push(trial(number, block, (scenario, cost), of, noise));
            }
        }
    }
    trials
}

fn trial(
    number: u32,
    block: u32,
    (scenario, cost): (&str, f64),
    of: &Character,
    noise: &mut Noise,
) -> TrialFindings {
    let limited = of.name == "gatebench";
    TrialFindings {
        number,
        block,
        scenario: scenario.into(),
        variant: of.name.into(),
        again: None,
        folder: format!("trials/{number:04}-{scenario}-{}-b{block}", of.name),
        started: "2026-11-21T10:08:00Z".parse().unwrap(),
        duration_ns: (13.2e9 * noise.factor(0.02)) as u64,
        outcome: "completed".into(),
        validity: if limited {
            Validity::Limited
        } else {
            Validity::Valid
        },
        reasons: if limited {
            vec![near_direct()]
        } else {
            Vec::new()
        },
        warnings: Vec::new(),
        timeline: vec![
            seconds(
                PhaseKind::Closed,
                4,
                of.throughput / cost,
                64e9 / of.throughput * 1.9,
                noise,
            ),
            seconds(
                PhaseKind::Open,
                5,
                5_000.0,
                of.response_ns * (1.0 + 3.0 * of.tail),
                noise,
            ),
        ],
    }
}

fn seconds(kind: PhaseKind, count: u32, rate: f64, p99: f64, noise: &mut Noise) -> TimelinePhase {
    let jitter = if kind == PhaseKind::Closed {
        0.03
    } else {
        0.001
    };
    TimelinePhase {
        phase: if kind == PhaseKind::Closed {
            "saturate"
        } else {
            "steady"
        }
        .into(),
        kind,
        began_ns: SECOND_NS,
        seconds: (0..count)
            .map(|second| TimelineSecond {
                second,
                completed: (rate * noise.factor(jitter)) as u64,
                failed: 0,
                response_p50_ns: Some((p99 / 2.0) as u64),
                response_p99_ns: Some((p99 * noise.factor(0.2)) as u64),
                gateway_cores: Some(0.98),
                gateway_rss_anon_bytes: Some(6 << 20),
                engine_cores: Some(0.4),
                upstream_cores: Some(0.3),
            })
            .collect(),
    }
}

fn parity() -> Vec<ParityFindings> {
    let case = |name: &str| ParityCaseFindings {
        name: name.into(),
        passed: 6,
        tried: 6,
        failure: None,
    };
    let mut parity = Vec::new();
    for (scenario, _, _) in SCENARIOS {
        for of in &CHARACTERS {
            let mut cases = vec![case("the response is the upstream's JSON")];
            if scenario == "api-key-json" {
                cases.push(case("a good key is let through"));
                cases.push(case("a wrong key is refused with 401 before the upstream"));
            }
            let direct = of.name == "direct";
            parity.push(ParityFindings {
                scenario: scenario.into(),
                variant: of.name.into(),
                holds: Some(true),
                trials: BLOCKS,
                cases: if direct {
                    cases.into_iter().take(1).collect()
                } else {
                    cases
                },
                routes_expected: 1,
                routes_answering: 1,
            });
        }
    }
    parity
}

const NGINX: &str = "worker_processes 1;
events {
    worker_connections 4096;
}
http {
    access_log off;
    upstream origin {
        server 127.0.0.1:41873;
        keepalive 128;
    }
    server {
        listen 127.0.0.1:40211 reuseport;
        location /json/ {
            if ($http_x_api_key != \"secret & <key>\") { return 401; }
            proxy_pass http://origin/;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
        }
    }
}
";

fn configurations() -> Vec<Configuration> {
    let mut configurations = Vec::new();
    for (scenario, _, _) in SCENARIOS {
        for of in &CHARACTERS[1..] {
            let file = ConfigurationFile {
                sha256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae".into(),
                text: Some(NGINX.into()),
            };
            configurations.push(Configuration {
                scenario: scenario.into(),
                variant: of.name.into(),
                trial: 3,
                version: of.version.into(),
                workers: 1,
                commands: vec![format!("/usr/sbin/{0} -p gateway/ -c {0}.conf", of.name)],
                files: BTreeMap::from([(format!("{}.conf", of.name), file)]),
            });
        }
    }
    configurations
}

fn environment() -> Vec<Fact> {
    [
        ("cpu.model", "AMD EPYC 9B14"),
        ("cpu.count", "2"),
        ("cpu.threads_per_core", "2"),
        ("cpu.governor", "not readable"),
        ("memory.total", "7.76 GiB"),
        ("kernel.release", "6.12.44-cloud-amd64"),
        ("kernel.clock_source", "kvm-clock"),
        ("kernel.virtualisation", "kvm"),
        ("limits.cgroup_cpu_max", "max 100000"),
        ("limits.open_files", "1048576"),
        ("sysctl.net_core_somaxconn", "4096"),
        ("sysctl.net_ipv4_ip_local_port_range", "32768 60999"),
    ]
    .map(|(name, value)| Fact {
        name: name.into(),
        value: value.into(),
    })
    .into()
}
