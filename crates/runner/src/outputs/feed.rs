//! Turns the records of a load into facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use gatebench_engine::{ErrorKind, Group, Interval, Protocol};
use gatebench_model::{Plan, Request, Trial};
use gatebench_net::clock;
use gatebench_outputs::{
    Class, Component, Distribution, Fact, Load, Own, Second, Trend, Usage, Validity, What,
};
use gatebench_report::Validity as Verdict;
use gatebench_store::{Histogram, RequestsRow, SeriesUsage};
use gatebench_studies::common::facts::Reason;

use super::hub::Outputs;
use crate::workload::connections_max;

const SECOND_NS: u64 = 1_000_000_000;
/// The minimum length of a masked secret, in bytes.
const SECRET_MIN: usize = 4;
const MASK: &str = "[masked]";

/// Returns the labels that distinguish a load from all others, and the user's labels.
pub(super) fn labels_of(
    run: &str,
    trial: &Trial,
    phase: &str,
    tags: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let (gateway, scenario) = (&trial.variant, &trial.scenario);
    let own = [
        ("testid", format!("{run}/{gateway}/{scenario}")),
        ("run", run.to_owned()),
        ("gateway", gateway.clone()),
        ("scenario", scenario.clone()),
        ("phase", phase.to_owned()),
        ("block", trial.block.to_string()),
        ("trial", trial.number.to_string()),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    own.into_iter().chain(tags.clone()).collect()
}

/// The properties of a load that determine its description in the outputs.
pub(super) struct Requests<'a> {
    pub(super) all: Vec<&'a Request>,
    pub(super) is_http2: bool,
    pub(super) connections_max: u64,
    /// Strings of the plan that must not leave this machine.
    pub(super) secrets: &'a BTreeSet<String>,
}

impl<'a> Requests<'a> {
    fn of(groups: &'a [Group], secrets: &'a BTreeSet<String>) -> Self {
        let is_http2 = |group: &Group| matches!(group.target.protocol, Protocol::Http2 { .. });
        let connections = groups
            .iter()
            .map(|it| u64::from(connections_max(&it.shape)));
        Self {
            all: groups.iter().flat_map(|group| &group.requests).collect(),
            is_http2: groups.iter().any(is_http2),
            connections_max: connections.sum(),
            secrets,
        }
    }

    /// Masks the secrets in a string. Very short secrets are not masked, because they may be part
    /// of other words.
    fn masked(&self, text: String) -> String {
        let secrets = self.secrets.iter().filter(|it| it.len() >= SECRET_MIN);
        secrets.fold(text, |text, secret| text.replace(secret, MASK))
    }

    pub(super) fn load(&self, labels: BTreeMap<String, String>, id: u64) -> Load {
        let mut methods: Vec<&String> = self.all.iter().map(|it| &it.method).collect();
        methods.dedup();
        let mut request = BTreeMap::new();
        if let [only] = methods[..] {
            request.insert("method", only.clone());
        }
        // The figures of a second are not recorded per request, so several requests share a name.
        let name = match self.all[..] {
            [only] => self.masked(only.path.clone()),
            _ => labels.get("scenario").cloned().unwrap_or_default(),
        };
        request.insert("url", name.clone());
        request.insert("name", name);
        let proto = ["HTTP/1.1", "HTTP/2.0"][usize::from(self.is_http2)];
        request.insert("proto", proto.into());
        let checks = self.all.iter().flat_map(|it| &it.checks);
        Load {
            id,
            labels,
            request,
            checks: checks.map(|it| self.masked(it.to_string())).collect(),
            checks_apply_to_all: self.all.len() == 1,
            connections_max: self.connections_max,
        }
    }
}

/// The outputs for one trial. Dropping this value ends the series of the trial's gauges.
pub(crate) struct TrialFeed<'a> {
    outputs: &'a Outputs,
    trial: Trial,
    secrets: BTreeSet<String>,
    loads: Mutex<Vec<Arc<Load>>>,
}

impl<'a> TrialFeed<'a> {
    pub(crate) fn new(outputs: &'a Outputs, plan: &Plan, trial: &Trial) -> Self {
        Self {
            outputs,
            secrets: plan.secrets(),
            trial: trial.clone(),
            loads: Mutex::default(),
        }
    }

    pub(crate) fn load(&self, phase: &str, groups: &[Group]) -> LoadFeed<'a> {
        let outputs = self.outputs;
        let labels = labels_of(&outputs.run, &self.trial, phase, &outputs.tags);
        let id = outputs.next_load();
        let load = Arc::new(Requests::of(groups, &self.secrets).load(labels, id));
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loads.push(Arc::clone(&load));
        LoadFeed { outputs, load }
    }
}

impl Drop for TrialFeed<'_> {
    fn drop(&mut self) {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = self.outputs;
        for load in loads.drain(..) {
            LoadFeed { outputs, load }.now(What::Closed);
        }
    }
}

/// The outputs for one load.
pub struct LoadFeed<'a> {
    outputs: &'a Outputs,
    load: Arc<Load>,
}

#[derive(Clone, Copy)]
pub(crate) struct Window {
    /// The start of the measurement: on `CLOCK_MONOTONIC` during a run, and since 1970 in a replay.
    pub(crate) begin_ns: u64,
    pub(crate) measure_ns: u64,
}

impl<'a> LoadFeed<'a> {
    /// Creates the feed of a load outside a trial.
    pub fn alone(outputs: &'a Outputs, target: &str, groups: &[Group]) -> Self {
        let trial = Trial {
            number: 1,
            block: 1,
            scenario: "load".into(),
            variant: target.into(),
            again: None,
        };
        let labels = labels_of(&outputs.run, &trial, "load", &outputs.tags);
        let secrets = BTreeSet::new();
        let load = Requests::of(groups, &secrets).load(labels, outputs.next_load());
        Self {
            outputs,
            load: Arc::new(load),
        }
    }

    /// Adds a complete second of a load outside a trial. `window_ns` contains the start and the end
    /// of the measurement on `CLOCK_MONOTONIC`.
    pub fn take(&self, window_ns: (u64, u64), interval: &Interval) {
        let window = Window {
            begin_ns: window_ns.0,
            measure_ns: window_ns.1.saturating_sub(window_ns.0),
        };
        self.second(window, interval);
    }

    /// Adds a complete second of a load, or its drain.
    pub(crate) fn second(&self, window: Window, interval: &Interval) {
        let second = Second {
            times: times_of(interval),
            engine_cpu_ns: interval.cpu_ns,
            ..second_of(&row_of(interval))
        };
        self.fact(window, interval.second, What::Second(second));
    }

    /// Adds the usage of the gateway, the load generator and the upstream in a second.
    pub(crate) fn usage(&self, window: Window, second: u32, usages: [Option<SeriesUsage>; 3]) {
        let usage = usage_of(second, usages);
        self.fact(window, second, What::Usage(usage));
    }

    pub(crate) fn own(&self, requests: Option<u64>, pools: &BTreeMap<String, u64>) {
        let pools = pools.clone();
        self.now(What::Own(Own { requests, pools }));
    }

    pub(crate) fn judged(&self, reasons: &[Reason]) {
        self.now(What::Judged(validity_of(reasons)));
    }

    pub(crate) fn ended(&self) {
        self.now(What::Ended);
    }

    /// Ends the load; no further fact follows.
    pub fn close(&self) {
        self.ended();
        self.now(What::Closed);
    }

    fn fact(&self, window: Window, second: u32, what: What) {
        let now_ns = clock::now_ns();
        let (from_ns, to_ns) = edges(window, second, now_ns);
        self.send(from_ns, to_ns, what);
    }

    fn now(&self, what: What) {
        let now_ns = clock::now_ns();
        self.send(now_ns, now_ns, what);
    }

    fn send(&self, from_ns: u64, to_ns: u64, what: What) {
        self.outputs.take(Fact {
            load: Arc::clone(&self.load),
            from_ns: self.outputs.unix_ns(from_ns),
            to_ns: self.outputs.unix_ns(to_ns),
            what,
        });
    }
}

/// Returns the start and the end of a second; the last second may be shorter. The drain is treated
/// as one more second, which ends at `now_ns`. Neither time is after `now_ns`.
pub(super) fn edges(window: Window, second: u32, now_ns: u64) -> (u64, u64) {
    let since_begin_ns = u64::from(second) * SECOND_NS;
    let from_ns = since_begin_ns.min(window.measure_ns);
    let to_ns = match since_begin_ns >= window.measure_ns {
        true => u64::MAX - window.begin_ns,
        false => (since_begin_ns + SECOND_NS).min(window.measure_ns),
    };
    let to_ns = (window.begin_ns + to_ns).min(now_ns);
    ((window.begin_ns + from_ns).min(to_ns), to_ns)
}

/// Counts the requests of a second by outcome, and leaves `phase` empty.
pub(crate) fn row_of(interval: &Interval) -> RequestsRow {
    let counts = &interval.counts;
    let errors = ErrorKind::ALL.into_iter().zip(counts.errors);
    let errors = errors.filter(|(_, count)| *count > 0);
    let failed = counts.checks_failed.iter().copied().enumerate();
    RequestsRow {
        phase: String::new(),
        second: interval.second,
        statuses: interval.statuses().collect(),
        errors: errors
            .map(|(kind, count)| (kind.as_str().to_owned(), count))
            .collect(),
        checks_failed: failed.filter(|(_, count)| *count > 0).collect(),
        failing_checks: counts.responses_failing_checks,
        dropped: counts.dropped,
        bytes_sent: counts.bytes_sent,
        bytes_received: counts.bytes_received,
        busy: interval.busy,
    }
}

/// Returns the second that a row describes, without its times and its CPU time.
pub(super) fn second_of(row: &RequestsRow) -> Second {
    Second {
        number: row.second,
        statuses: row.statuses.clone(),
        errors: row.errors.clone(),
        checks_failed: row.checks_failed.clone(),
        failing_checks: row.failing_checks,
        dropped: row.dropped,
        bytes_sent: row.bytes_sent,
        bytes_received: row.bytes_received,
        busy: row.busy,
        ..Second::default()
    }
}

pub(super) fn usage_of(second: u32, usages: [Option<SeriesUsage>; 3]) -> Usage {
    let component = |(name, usage): (&'static str, Option<SeriesUsage>)| {
        let usage = usage?;
        let component = Component {
            // The load generator's CPU time is left out, because the load's seconds already contain
            // it.
            cpu_ns: (name != "engine").then_some(usage.cpu_ns),
            memory_bytes: usage.rss_anon_bytes,
            descriptors: usage.descriptors,
        };
        Some((name, component))
    };
    let named = ["gateway", "engine", "upstream"].into_iter().zip(usages);
    Usage {
        second,
        components: named.filter_map(component).collect(),
    }
}

/// The validity, with the names of the gates as in report.json.
pub(super) fn validity_of(reasons: &[Reason]) -> Validity {
    let word = |reason: &Reason| {
        let gate = serde_json::to_value(reason.gate).unwrap_or_default();
        gate.as_str().unwrap_or_default().to_owned()
    };
    let mut words: Vec<String> = reasons.iter().map(word).collect();
    words.sort_unstable();
    words.dedup();
    Validity {
        is_valid: reasons.iter().all(|it| it.validity != Verdict::Invalid),
        reasons: words,
    }
}

fn times_of(interval: &Interval) -> BTreeMap<(Trend, Class), Distribution> {
    let recordings = interval.recordings();
    let times = recordings.filter_map(|(metric, class, recording)| {
        let key = (
            Trend::named(metric.as_str())?,
            Class::named(class.as_str())?,
        );
        let times = distribution(&recording.histogram);
        let (min_ns, max_ns) = (recording.min_ns, recording.max_ns);
        Some((key, times.with_exact(recording.sum_ns, min_ns, max_ns)))
    });
    times.collect()
}

pub(super) fn distribution(histogram: &Histogram<u64>) -> Distribution {
    let values = histogram.iter_recorded();
    Distribution::new(values.map(|it| (it.value_iterated_to(), it.count_at_value())))
}
