//! The metrics with their names, kinds, units and explanations.

#[derive(Debug)]
pub(crate) struct Metric {
    /// True for a metric of k6, false for one that gatebench adds.
    pub(crate) is_of_k6: bool,
    /// The name without a prefix. For a metric of k6, this is the name in k6.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    /// The share of cases that have a property.
    Rate,
    /// Durations in nanoseconds.
    Trend,
}

impl Metric {
    pub(crate) fn prefixed(&self) -> String {
        let prefix = if self.is_of_k6 { "k6_" } else { "gatebench_" };
        format!("{prefix}{}", self.name)
    }

    /// The name without k6's prefix, as used for a measurement in InfluxDB and for a metric in
    /// OTLP.
    pub(crate) fn plain(&self) -> String {
        match self.is_of_k6 {
            true => self.name.into(),
            false => self.prefixed(),
        }
    }

    /// The unit of a counter or gauge for OTLP, derived from its name.
    pub(crate) fn unit(&self) -> &'static str {
        match self.name {
            "data_sent" | "data_received" => "By",
            name if name.ends_with("_bytes") => "By",
            name if name.ends_with("_seconds") => "s",
            _ => "",
        }
    }
}

const K6: bool = true;
const OWN: bool = false;

macro_rules! metrics {
    ($($constant:ident = $family:ident $name:literal $kind:ident $help:literal;)*) => {
        $(pub(crate) static $constant: Metric = Metric {
            is_of_k6: $family,
            name: $name,
            kind: Kind::$kind,
            help: $help,
        };)*
    };
}

metrics! {
    VUS = K6 "vus" Gauge "Requests in flight: at most one per connection, or several over HTTP/2.";
    VUS_MAX = K6 "vus_max" Gauge "Maximum number of connections.";
    ITERATIONS = K6 "iterations" Counter "Requests that ended.";
    DROPPED_ITERATIONS = K6 "dropped_iterations" Counter
        "Requests that were due but never sent, because the queue was full or the load ended first.";
    ITERATION_DURATION = K6 "iteration_duration" Trend
        "Time from when the request was due until the last byte of the response arrived.";
    HTTP_REQS = K6 "http_reqs" Counter "Requests that ended.";
    HTTP_REQ_DURATION = K6 "http_req_duration" Trend
        "Time from when the request was due (with duration=service, from when it was sent) until \
         the last byte of the response arrived.";
    HTTP_REQ_FAILED = K6 "http_req_failed" Rate
        "Share of requests without a complete response, or with a status of 400 or above.";
    HTTP_REQ_BLOCKED = K6 "http_req_blocked" Trend
        "Time from when the request was due until it was sent.";
    HTTP_REQ_CONNECTING = K6 "http_req_connecting" Trend
        "Always 0: requests are sent on open connections.";
    HTTP_REQ_TLS_HANDSHAKING = K6 "http_req_tls_handshaking" Trend
        "Always 0: requests are sent on connections whose handshake is complete.";
    HTTP_REQ_SENDING = K6 "http_req_sending" Trend
        "Always 0: each request is handed to the kernel in one piece, so all of the time counts as \
         waiting.";
    HTTP_REQ_WAITING = K6 "http_req_waiting" Trend
        "Time from sending the request to the first byte of the response.";
    HTTP_REQ_RECEIVING = K6 "http_req_receiving" Trend
        "Time from the first to the last byte of the response.";
    CHECKS = K6 "checks" Rate "Share of responses that passed the check.";
    DATA_SENT = K6 "data_sent" Counter "Bytes of requests.";
    DATA_RECEIVED = K6 "data_received" Counter "Bytes of responses.";

    RESPONSE = OWN "response" Trend
        "Time from when the request was due until the last byte of the response arrived.";
    SERVICE = OWN "service" Trend
        "Time from sending the request to the last byte of the response.";
    LATENESS = OWN "lateness" Trend "Time from when the request was due until it was sent.";
    ADDED = OWN "added" Trend "Service time minus the time that the upstream had the request.";
    REQUEST_HALF = OWN "request_half" Trend
        "Time from sending the request until the upstream has it.";
    RESPONSE_HALF = OWN "response_half" Trend
        "Time from when the upstream sent the response until the response's last byte arrived.";
    REQUESTS = OWN "requests" Counter "Responses by status class.";
    ERRORS = OWN "errors" Counter "Requests without a complete response, by kind of error.";
    DROPPED = OWN "dropped" Counter "Requests that were due but never sent.";
    CHECKS_FAILED = OWN "checks_failed" Counter "Responses that failed the check.";
    COMPONENT_CPU = OWN "component_cpu_seconds" Counter "CPU time of the component.";
    COMPONENT_MEMORY = OWN "component_memory_bytes" Gauge
        "Anonymous resident memory of the component.";
    COMPONENT_DESCRIPTORS = OWN "component_descriptors" Gauge
        "Open file descriptors of the component.";
    CPU_PER_REQUEST = OWN "cpu_seconds_per_request" Gauge
        "CPU time of the gateway per response, since the start of the measurement.";
    OWN_REQUESTS = OWN "own_requests" Counter "The gateway's own count of requests.";
    OWN_POOL = OWN "own_pool" Gauge "The size of a pool in the gateway's own metrics.";
    VALID = OWN "valid" Gauge "1 if the load is valid, otherwise 0.";
    LIMITED = OWN "limited" Gauge "1 for each reason why the load is limited or invalid.";
    PHASE_INFO = OWN "phase_info" Gauge "1 while a load is measured.";
}
