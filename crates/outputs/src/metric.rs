//! The metrics: name, kind, unit and explanation.

/// A family of series.
#[derive(Debug)]
pub(crate) struct Metric {
    /// True for a metric of k6, false for one of gatebench's own.
    pub(crate) is_of_k6: bool,
    /// Its name; for k6's metrics, the name in k6.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The explanation for the reader of a dashboard.
    pub(crate) help: &'static str,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    /// A share of cases.
    Rate,
    /// Times in nanoseconds.
    Trend,
}

impl Metric {
    const fn k6(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            is_of_k6: true,
            name,
            kind,
            help,
        }
    }

    const fn own(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            is_of_k6: false,
            name,
            kind,
            help,
        }
    }

    /// The name with the prefix of its family.
    pub(crate) fn prefixed(&self) -> String {
        let prefix = if self.is_of_k6 { "k6_" } else { "gatebench_" };
        format!("{prefix}{}", self.name)
    }

    /// The name without k6's prefix: as a measurement in InfluxDB, and in OTLP.
    pub(crate) fn plain(&self) -> String {
        match self.is_of_k6 {
            true => self.name.into(),
            false => self.prefixed(),
        }
    }

    /// The unit of a counter or gauge for OTLP, derived from the end of its name.
    pub(crate) fn unit(&self) -> &'static str {
        match self.name {
            "data_sent" | "data_received" => "By",
            name if name.ends_with("_bytes") => "By",
            name if name.ends_with("_seconds") => "s",
            _ => "",
        }
    }
}

/// Declares metrics.
macro_rules! metrics {
    ($($constant:ident = $family:ident $name:literal $kind:ident $help:literal;)*) => {
        $(pub(crate) static $constant: Metric = Metric::$family($name, Kind::$kind, $help);)*
    };
}

metrics! {
    VUS = k6 "vus" Gauge "Requests under way: a connection has one at a time, over HTTP/2 several.";
    VUS_MAX = k6 "vus_max" Gauge "Maximum number of connections.";
    ITERATIONS = k6 "iterations" Counter "Requests that ended.";
    DROPPED_ITERATIONS = k6 "dropped_iterations" Counter
        "Requests that were due and never sent, because the queue was full.";
    ITERATION_DURATION = k6 "iteration_duration" Trend
        "Time from when the request was due to the last byte of the response.";
    HTTP_REQS = k6 "http_reqs" Counter "Requests that ended.";
    HTTP_REQ_DURATION = k6 "http_req_duration" Trend
        "Time from when the request was due to the last byte of the response, or from its send, \
         if the output has duration=service.";
    HTTP_REQ_FAILED = k6 "http_req_failed" Rate
        "Share of requests without a response, or with a status of 400 or above.";
    HTTP_REQ_BLOCKED = k6 "http_req_blocked" Trend
        "Time from when the request was due to its send.";
    HTTP_REQ_CONNECTING = k6 "http_req_connecting" Trend
        "0: a request is given to a connection that exists.";
    HTTP_REQ_TLS_HANDSHAKING = k6 "http_req_tls_handshaking" Trend
        "0: a request is given to a connection whose handshake is complete.";
    HTTP_REQ_SENDING = k6 "http_req_sending" Trend
        "0: a request is handed to the kernel in one piece, at which waiting begins.";
    HTTP_REQ_WAITING = k6 "http_req_waiting" Trend
        "Time from the send of the request to the first byte of the response.";
    HTTP_REQ_RECEIVING = k6 "http_req_receiving" Trend
        "Time from the first to the last byte of the response.";
    CHECKS = k6 "checks" Rate "Share of responses that passed the check.";
    DATA_SENT = k6 "data_sent" Counter "Bytes of requests.";
    DATA_RECEIVED = k6 "data_received" Counter "Bytes of responses.";

    RESPONSE = own "response" Trend
        "Time from when the request was due to the last byte of the response.";
    SERVICE = own "service" Trend
        "Time from the send of the request to the last byte of the response.";
    LATENESS = own "lateness" Trend "Time from when the request was due to its send.";
    ADDED = own "added" Trend "Service time without the time the upstream had the request.";
    REQUEST_HALF = own "request_half" Trend
        "Time from the send of the request to the upstream having it.";
    RESPONSE_HALF = own "response_half" Trend
        "Time from the upstream sending to the last byte of the response.";
    REQUESTS = own "requests" Counter "Responses by status class.";
    ERRORS = own "errors" Counter "Requests without a response, by kind.";
    DROPPED = own "dropped" Counter "Requests that were due and never sent.";
    CHECKS_FAILED = own "checks_failed" Counter "Responses that failed the check.";
    COMPONENT_CPU = own "component_cpu_seconds" Counter "CPU time of the component.";
    COMPONENT_MEMORY = own "component_memory_bytes" Gauge
        "Anonymous resident memory of the component.";
    COMPONENT_DESCRIPTORS = own "component_descriptors" Gauge
        "Open descriptors of the component.";
    CPU_PER_REQUEST = own "cpu_seconds_per_request" Gauge
        "CPU time of the gateway per response, since the start of the measurement.";
    OWN_REQUESTS = own "own_requests" Counter "The gateway's own count of requests.";
    OWN_POOL = own "own_pool" Gauge "The size of a pool in the gateway's own metrics.";
    VALID = own "valid" Gauge "1 if the load is valid, 0 if a reason makes it invalid.";
    LIMITED = own "limited" Gauge "1 for each reason that limits the load.";
    PHASE_INFO = own "phase_info" Gauge "1 while a load is measured.";
}
