//! The documents' figures, as published. Another machine measured them: `report --as` sets only
//! ratios within a document next to ours.

/// A row of a table of policies.
#[derive(Clone, Copy, Debug)]
pub struct PolicyRow {
    /// The scenario here.
    pub scenario: &'static str,
    /// What the document calls it.
    pub label: &'static str,
    /// What was published of it; none where its cells are empty.
    pub figures: Option<Figures>,
}

/// The published figures of a row.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Requests per second, the ramp included.
    pub rate_per_second: f64,
    /// Mean response time in milliseconds.
    pub mean_ms: f64,
    /// Gateway latency, 95th percentile of a histogram, in milliseconds; none where it is not told.
    pub gateway_p95_ms: Option<f64>,
}

const fn row(scenario: &'static str, label: &'static str, figures: Figures) -> PolicyRow {
    PolicyRow {
        scenario,
        label,
        figures: Some(figures),
    }
}

const fn unpublished(scenario: &'static str, label: &'static str) -> PolicyRow {
    PolicyRow {
        scenario,
        label,
        figures: None,
    }
}

const fn figures(rate_per_second: f64, gateway_p95_ms: f64, mean_ms: f64) -> Figures {
    Figures {
        rate_per_second,
        mean_ms,
        gateway_p95_ms: Some(gateway_p95_ms),
    }
}

const fn earlier(rate_per_second: f64, mean_ms: f64) -> Figures {
    Figures {
        rate_per_second,
        mean_ms,
        gateway_p95_ms: None,
    }
}

/// The Kong SOAP/XML load test, plug-ins 1.4.0 on 4 CPUs: its performance scenarios.
pub const SOAP: [PolicyRow; 17] = [
    row("soap-0", "0 no policy", figures(12_908.0, 0.96, 3.86)),
    row("soap-1", "1 WSDL, request", figures(9_071.0, 0.95, 2.08)),
    row(
        "soap-2",
        "2 WSDL, SOAPAction, request",
        figures(7_988.0, 0.95, 2.36),
    ),
    row("soap-3", "3 XSD, request", figures(9_209.0, 0.96, 2.05)),
    row("soap-4", "4 XSLT, request", figures(6_815.0, 0.96, 2.78)),
    row(
        "soap-5",
        "5 all, request and answer",
        figures(3_133.0, 0.99, 6.05),
    ),
    row("soap-6", "6 WSDL, answer", figures(8_314.0, 0.95, 2.27)),
    row("soap-7", "7 XSLT, answer", figures(7_267.0, 0.95, 2.6)),
    row(
        "soap-8",
        "8 XSLT, saxon, request",
        figures(5_016.0, 0.98, 3.77),
    ),
    row(
        "soap-9",
        "9 JSON to SOAP, saxon, both",
        figures(3_433.0, 0.98, 5.52),
    ),
    row(
        "soap-10",
        "10 XML to JSON, saxon, both",
        figures(2_853.0, 0.98, 6.64),
    ),
    unpublished("soap-0-gzip", "0 no policy, gzip"),
    unpublished("soap-6-gzip", "6 WSDL, answer, gzip"),
    row(
        "httpbin-0",
        "httpbin 0 no policy",
        figures(10_931.0, 0.96, 25.46),
    ),
    row(
        "httpbin-1",
        "httpbin 1 OpenAPI, request",
        figures(9_311.0, 0.97, 29.94),
    ),
    row(
        "httpbin-2",
        "httpbin 2 OpenAPI, both",
        figures(8_173.0, 0.98, 34.08),
    ),
    row(
        "go-bench-0",
        "go-bench 0 no policy",
        figures(18_797.0, 0.96, 4.94),
    ),
];

/// Its endurance scenarios, 24 h over 100 routes.
pub const SOAP_ENDURANCE: [PolicyRow; 3] = [
    row(
        "soap-5-routes",
        "5 all, 100 routes",
        figures(2_115.0, 0.98, 30.24),
    ),
    row(
        "soap-9-routes",
        "9 JSON to SOAP, 100 routes",
        figures(2_125.0, 0.98, 26.67),
    ),
    row(
        "soap-10-routes",
        "10 XML to JSON, 100 routes",
        figures(2_118.0, 0.97, 38.13),
    ),
];

/// Its scenarios with requests that fail beside good ones.
pub const SOAP_ERRORS: [PolicyRow; 2] = [
    row(
        "soap-1-errors",
        "1 WSDL with errors",
        figures(8_550.0, 0.96, 4.43),
    ),
    row(
        "soap-3-errors",
        "3 XSD with errors",
        figures(7_946.0, 0.96, 4.77),
    ),
];

/// The earlier edition of the same document, whose plug-ins compiled their definitions for each
/// request, as the later edition states. Times in whole milliseconds.
pub const SOAP_EARLIER: [PolicyRow; 7] = [
    unpublished("soap-0", "0 no policy"),
    unpublished("soap-5", "1 all, request and answer"),
    row("soap-1", "2 WSDL, request", earlier(3_887.0, 5.0)),
    row("soap-3", "3 XSD, request", earlier(4_939.0, 4.0)),
    row("soap-4", "4 XSLT, request", earlier(526.0, 45.0)),
    row(
        "httpbin-1",
        "httpbin 1 OpenAPI, request",
        earlier(8_691.0, 23.0),
    ),
    row(
        "httpbin-2",
        "httpbin 2 OpenAPI, both",
        earlier(6_508.0, 31.0),
    ),
];

/// Connections of the sweep of Kong against nginx.
pub const CONNECTIONS: [u32; 11] = [1, 2, 4, 8, 10, 12, 14, 16, 18, 32, 50];

/// Requests per second over [`CONNECTIONS`], of the upstream directly.
pub const DIRECT: [Option<f64>; 11] = thousands([
    2.3, 4.4, 7.8, 11.6, 11.8, 12.0, 12.3, 12.5, 12.4, 12.4, 12.7,
]);

/// Targets of that sweep besides the upstream, with their rates; a page of nginx's own was not tried at 50.
pub const TARGETS: [(&str, [Option<f64>; 11]); 3] = [
    (
        "nginx static",
        thousands([
            2.4,
            4.7,
            8.4,
            13.0,
            14.7,
            15.6,
            15.5,
            15.9,
            15.6,
            16.6,
            f64::NAN,
        ]),
    ),
    (
        "via nginx",
        thousands([1.6, 3.0, 5.3, 8.4, 9.4, 10.5, 10.9, 11.9, 12.0, 12.8, 13.5]),
    ),
    (
        "via Kong",
        thousands([1.2, 2.4, 4.2, 6.3, 6.5, 6.6, 6.7, 6.6, 6.6, 6.9, 7.1]),
    ),
];

const fn thousands(values: [f64; 11]) -> [Option<f64>; 11] {
    let mut all = [None; 11];
    let mut at = 0;
    while at < values.len() {
        if !values[at].is_nan() {
            all[at] = Some(values[at] * 1_000.0);
        }
        at += 1;
    }
    all
}

/// A sizing of the Gravitee document.
#[derive(Clone, Copy, Debug)]
pub struct Sizing {
    /// CPUs of the gateway.
    pub cpus: f64,
    /// Peak rates per second of [`GRAVITEE`]'s rows.
    pub peaks: [Option<f64>; 7],
}

/// The scenarios of the Gravitee document: the last part of its names here, and what it calls them.
pub const GRAVITEE: [(&str, &str); 7] = [
    ("upstream", "dummy upstream"),
    ("passthrough", "passthrough"),
    ("mock", "mock"),
    ("api-key", "API key"),
    ("rate-limit-redis", "rate limit in Redis"),
    ("rate-limit", "rate limit in memory"),
    ("json", "JSON transformation"),
];

/// Its sizings.
pub const SIZINGS: [Sizing; 3] = [
    Sizing {
        cpus: 0.5,
        peaks: [
            None,
            Some(7_100.0),
            None,
            Some(6_600.0),
            Some(5_000.0),
            None,
            Some(3_500.0),
        ],
    },
    Sizing {
        cpus: 4.0,
        peaks: [
            None,
            Some(25_100.0),
            None,
            Some(23_800.0),
            Some(18_600.0),
            None,
            Some(14_100.0),
        ],
    },
    Sizing {
        cpus: 16.0,
        peaks: [
            None,
            Some(88_300.0),
            None,
            Some(80_800.0),
            Some(61_800.0),
            None,
            Some(50_900.0),
        ],
    },
];

/// The three runs that Kong's framework shows of one version: requests per second, and mean latency in
/// milliseconds, on 1,000 connections.
pub const FRAMEWORK_RUNS: [(f64, f64); 3] =
    [(66_803.45, 17.51), (71_337.25, 14.71), (72_141.41, 14.47)];

/// Its connections.
pub const FRAMEWORK_CONNECTIONS: f64 = 1_000.0;

/// Kong's gateway benchmark, of which no figures stand here.
pub const BENCHMARK: [PolicyRow; 8] = [
    unpublished("kong-no-policy-1", "no policy, 1 route"),
    unpublished("kong-no-policy-100", "no policy, 100 routes"),
    unpublished("kong-rate-limit-1", "rate limit, 1 route"),
    unpublished("kong-rate-limit-100", "rate limit, 100 routes"),
    unpublished("kong-key-auth-1", "limit and key, 1 consumer"),
    unpublished("kong-key-auth-100", "limit and key, 100 consumers"),
    unpublished("kong-basic-auth-1", "limit and password, 1"),
    unpublished("kong-basic-auth-100", "limit and password, 100"),
];
