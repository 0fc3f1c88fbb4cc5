//! What one worker records, second by second.

use hdrhistogram::Histogram;

/// Latencies above this are clamped to it and counted as clamped: 60 s.
pub const HIGHEST_NS: u64 = 60_000_000_000;
/// Precision of every histogram.
const SIGNIFICANT_DIGITS: u8 = 3;

/// What is measured per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// From the intended send to the last byte of the answer.
    Response,
    /// From the actual send to the last byte of the answer.
    Service,
    /// From the intended to the actual send.
    Lateness,
    /// Service time without the time the upstream had the request.
    Added,
    /// From the actual send to the upstream having the request; only on one host.
    RequestHalf,
    /// From the upstream sending to the last byte of the answer; only on one host.
    ResponseHalf,
}

impl Metric {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Response,
        Self::Service,
        Self::Lateness,
        Self::Added,
        Self::RequestHalf,
        Self::ResponseHalf,
    ];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Lateness => "lateness",
            Self::Added => "added",
            Self::RequestHalf => "request_half",
            Self::ResponseHalf => "response_half",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// 200 to 299.
    Success,
    /// 300 to 399.
    Redirection,
    /// 400 to 499.
    ClientError,
    /// 500 to 599.
    ServerError,
    /// No answer: timed out, reset, or not HTTP. Recorded with the time until that was known.
    Failed,
}

impl Class {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Success,
        Self::Redirection,
        Self::ClientError,
        Self::ServerError,
        Self::Failed,
    ];

    /// The class of a status.
    pub fn of(status: u16) -> Self {
        match status / 100 {
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::ClientError,
            5 => Self::ServerError,
            _ => Self::Failed,
        }
    }

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::Failed => "failed",
        }
    }
}

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// No connection could be made.
    Connect,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the answer was complete.
    ClosedEarly,
    /// No complete answer within the timeout, or none until the end of the drain.
    Timeout,
    /// What came back is not HTTP/1.1.
    Protocol,
}

impl ErrorKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Connect,
        Self::Reset,
        Self::ClosedEarly,
        Self::Timeout,
        Self::Protocol,
    ];

    /// The word in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed_early",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
        }
    }
}

/// A histogram with the exact figures that its buckets blur.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Nanoseconds, 3 significant digits.
    pub histogram: Histogram<u64>,
    /// Exact sum in nanoseconds.
    pub sum_ns: u128,
    /// Exact least value; `u64::MAX` where nothing was recorded.
    pub min_ns: u64,
    /// Exact greatest value, before clamping.
    pub max_ns: u64,
    /// Values above [`HIGHEST_NS`], recorded as that.
    pub clamped: u64,
}

impl Recording {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds are constants that the histogram accepts");
        Self {
            histogram,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            clamped: 0,
        }
    }

    fn record(&mut self, value_ns: u64) {
        self.histogram.saturating_record(value_ns);
        self.sum_ns += u128::from(value_ns);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.clamped += u64::from(value_ns > HIGHEST_NS);
    }

    /// Adds what another worker or second recorded.
    pub fn add(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("both histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.clamped += other.clamped;
    }

    fn clear(&mut self) {
        self.histogram.reset();
        (self.sum_ns, self.min_ns, self.max_ns, self.clamped) = (0, u64::MAX, 0, 0);
    }
}

/// Counts of one worker, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Arrivals due in the measured window.
    pub intended: u64,
    /// Of these, sent.
    pub sent: u64,
    /// Of these, answered.
    pub completed: u64,
    /// Answers that arrived within the window, whenever their request was due: what throughput is
    /// counted from.
    pub completed_in_window: u64,
    /// Answers by [`Class`].
    pub by_class: [u64; Class::ALL.len()],
    /// Requests without an answer, by [`ErrorKind`].
    pub errors: [u64; ErrorKind::ALL.len()],
    /// Arrivals dropped because the queue was full.
    pub dropped: u64,
    /// The longest the queue was.
    pub queued_max: u64,
    /// Answers that failed a check, by the check's number.
    pub checks_failed: Vec<u64>,
    /// Answers of which at least one check failed.
    pub answers_failing_checks: u64,
    /// Connections established.
    pub connections_opened: u64,
    /// Bytes of requests, heads included.
    pub bytes_sent: u64,
    /// Bytes of answers, heads included.
    pub bytes_received: u64,
    /// Answers whose four times are known.
    pub traced: u64,
    /// Answers without the times, though the request carried a nonce.
    pub untimed: u64,
    /// Answers that carry another request's nonce.
    pub foreign: u64,
}

impl Counts {
    /// Adds another worker's or second's counts; of the queue's length the greater stands.
    pub fn add(&mut self, other: &Self) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.completed += other.completed;
        self.completed_in_window += other.completed_in_window;
        add_each(&mut self.by_class, &other.by_class);
        add_each(&mut self.errors, &other.errors);
        self.dropped += other.dropped;
        self.queued_max = self.queued_max.max(other.queued_max);
        self.checks_failed
            .resize(self.checks_failed.len().max(other.checks_failed.len()), 0);
        add_each(&mut self.checks_failed, &other.checks_failed);
        self.answers_failing_checks += other.answers_failing_checks;
        self.connections_opened += other.connections_opened;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.traced += other.traced;
        self.untimed += other.untimed;
        self.foreign += other.foreign;
    }
}

fn add_each(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// One second of one worker.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Seconds since the measurement began. The interval after the last whole one holds the drain.
    pub second: u32,
    /// What was counted.
    pub counts: Counts,
    /// Histograms by class and metric; made when a class first occurs.
    recordings: [Option<Box<[Recording; Metric::ALL.len()]>>; Class::ALL.len()],
    /// CPU time of the worker's thread in this second, nanoseconds.
    pub cpu_ns: u64,
    /// Time the thread was ready but had no core, nanoseconds.
    pub run_queue_wait_ns: u64,
}

impl Interval {
    /// An empty record with room for the class that is expected.
    pub fn new(checks: usize) -> Self {
        let mut interval = Self {
            second: 0,
            counts: Counts {
                checks_failed: vec![0; checks],
                ..Counts::default()
            },
            recordings: Default::default(),
            cpu_ns: 0,
            run_queue_wait_ns: 0,
        };
        interval.class(Class::Success);
        interval
    }

    fn class(&mut self, class: Class) -> &mut [Recording; Metric::ALL.len()] {
        self.recordings[class as usize]
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Recording::new())))
    }

    /// Records response, service and lateness of one request.
    pub fn record(&mut self, class: Class, response_ns: u64, service_ns: u64, lateness_ns: u64) {
        let recordings = self.class(class);
        recordings[Metric::Response as usize].record(response_ns);
        recordings[Metric::Service as usize].record(service_ns);
        recordings[Metric::Lateness as usize].record(lateness_ns);
    }

    /// Records the parts of one traced request.
    pub fn record_trace(
        &mut self,
        class: Class,
        added_ns: u64,
        request_half_ns: u64,
        response_half_ns: u64,
    ) {
        let recordings = self.class(class);
        recordings[Metric::Added as usize].record(added_ns);
        recordings[Metric::RequestHalf as usize].record(request_half_ns);
        recordings[Metric::ResponseHalf as usize].record(response_half_ns);
    }

    /// Everything recorded, by metric and class; empty histograms are left out.
    pub fn recordings(&self) -> impl Iterator<Item = (Metric, Class, &Recording)> {
        Class::ALL
            .into_iter()
            .zip(&self.recordings)
            .flat_map(|(class, recordings)| {
                recordings.iter().flat_map(move |recordings| {
                    let each = Metric::ALL.into_iter().zip(recordings.iter());
                    each.filter(|(_, recording)| !recording.histogram.is_empty())
                        .map(move |(metric, recording)| (metric, class, recording))
                })
            })
    }

    /// Adds another worker's record of the same second.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (metric, class, recording) in other.recordings() {
            self.class(class)[metric as usize].add(recording);
        }
        self.cpu_ns += other.cpu_ns;
        self.run_queue_wait_ns += other.run_queue_wait_ns;
    }

    /// Empties the record for another second, keeping its memory.
    pub fn clear(&mut self) {
        let mut checks_failed = std::mem::take(&mut self.counts.checks_failed);
        checks_failed.fill(0);
        self.counts = Counts {
            checks_failed,
            ..Counts::default()
        };
        for recording in self
            .recordings
            .iter_mut()
            .flatten()
            .flat_map(|all| all.iter_mut())
        {
            if !recording.histogram.is_empty() {
                recording.clear();
            }
        }
        (self.cpu_ns, self.run_queue_wait_ns) = (0, 0);
    }
}
