//! Runs a short load against a pathology, with the assertions that apply to every load.

use std::fs;
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use gatebench_engine::{
    Class, Control, Counts, EngineError, ErrorKind, Load, Metric, Outcome, Target, run,
};
use gatebench_model::load::Closed;
use gatebench_model::{Check, Request, Shape};

use crate::common::{self, backends};
use crate::server::{Connection, Pathology, Server};

/// The maximum number of requests in a load, unless a test sets another one.
pub const REQUESTS: u64 = 12;
/// The maximum growth of the process's memory. It leaves room for bodies that are kept for checks,
/// both as received and as decoded.
const GROWTH_MAX_KIB: u64 = 64 * 1024;
/// The time after which a load that has not ended is considered hung.
const HANG: Duration = Duration::from_secs(30);

/// Lets one load run at a time, because memory is measured for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a load against a pathology on each backend. Panics, or aborts the process, unless every
/// request is accounted for, memory is bounded and the load ends.
pub fn suffer(pathology: impl Pathology, change: impl Fn(&mut Load)) -> Vec<Outcome> {
    let _alone = alone();
    let pathology = Arc::new(pathology);
    backends()
        .into_iter()
        .map(|backend| {
            let server = Server::start(Arc::clone(&pathology));
            let mut load = load(server.address);
            load.backend = Some(backend);
            change(&mut load);
            watched(&load)
        })
        .collect()
}

/// Asserts that every request that ends fails with one of these errors, and that at least one does.
pub fn fails_as(kinds: &[ErrorKind], pathology: impl Pathology) {
    fails_with(kinds, pathology, |_| {});
}

/// Asserts that each of these responses, sent on successive connections, is counted as an error of
/// this kind.
pub fn each_fails_as<A: AsRef<[u8]>>(kind: ErrorKind, responses: &[A]) {
    let responses: Vec<_> = responses.iter().map(|it| it.as_ref().to_vec()).collect();
    let count = responses.len() as u64;
    let sent = Arc::new(Mutex::new(vec![false; responses.len()]));
    let all_sent = Arc::clone(&sent);
    let pathology = move |it: &mut Connection| {
        let number = (it.number % count) as usize;
        if it.request() && it.write(&responses[number]) {
            sent.lock().unwrap()[number] = true;
            // The bytes that follow belong to this response, too.
            while it.request() && it.write(&responses[number]) {}
        }
    };
    fails_with(&[kind], pathology, |load| requests(load, 2 * count, 3));
    assert!(
        all_sent.lock().unwrap().iter().all(|it| *it),
        "each response is sent"
    );
}

pub fn fails_with(kinds: &[ErrorKind], pathology: impl Pathology, change: impl Fn(&mut Load)) {
    for outcome in suffer(pathology, change) {
        let counts = &outcome.counts;
        let expected: u64 = kinds.iter().map(|kind| counts.errors[*kind as usize]).sum();
        assert!(expected > 0, "no error of {kinds:?}: {counts:?}");
        assert_eq!(
            expected,
            all_errors(counts),
            "errors other than {kinds:?}: {counts:?}"
        );
        assert_eq!(counts.completed, 0, "{counts:?}");
    }
}

/// Asserts that every request gets a response, and that this number of responses fails a check.
pub fn completes(pathology: impl Pathology, failing: u64, change: impl Fn(&mut Load)) {
    for outcome in suffer(pathology, change) {
        let counts = &outcome.counts;
        assert_eq!(all_errors(counts), 0, "{counts:?}");
        assert_eq!(counts.completed, counts.sent);
        assert!(counts.completed > 0, "{counts:?}");
        assert_eq!(counts.responses_failing_checks, failing, "{counts:?}");
    }
}

/// Returns the error with which the engine refuses to begin. Asserts that the error is the same on
/// each backend and occurs within the time that a load may take.
pub fn turned_away(change: impl Fn(&mut Load), pathology: impl Pathology) -> String {
    let _alone = alone();
    let pathology = Arc::new(pathology);
    let reasons: Vec<_> = backends()
        .into_iter()
        .map(|backend| {
            let mut load = load(Server::start(Arc::clone(&pathology)).address);
            load.backend = Some(backend);
            change(&mut load);
            let _watchdog = Watchdog::start();
            match run(&load, &Control::new(1), |_, _| {}) {
                Err(EngineError::Unreachable { reason, .. }) => reason.to_string(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert!(reasons.iter().all(|it| *it == reasons[0]), "{reasons:?}");
    reasons[0].clone()
}

pub fn all_errors(counts: &Counts) -> u64 {
    counts.errors.iter().sum()
}

/// Asserts that at least one attempt to connect failed, and that all failures are of this kind.
pub fn only_unconnected_by(outcome: &Outcome, kind: ErrorKind) {
    let counts = &outcome.counts;
    let failed = counts.connections_failed[kind as usize];
    assert!(failed > 0, "{counts:?}");
    let all: u64 = counts.connections_failed.iter().sum();
    assert_eq!(failed, all, "{counts:?}");
    assert_eq!(all_errors(counts), 0, "{counts:?}");
}

pub fn errors(outcome: &Outcome, kind: ErrorKind) -> u64 {
    outcome.counts.errors[kind as usize]
}

pub fn load(address: SocketAddr) -> Load {
    let request = Request {
        checks: vec![Check::Status(200)],
        ..Request::new("GET", "/")
    };
    let shape = Closed {
        requests_max: Some(REQUESTS),
        ..Closed::new(3)
    };
    let target = Target::new(address, "localhost");
    common::load(
        target,
        request,
        Shape::Closed(shape),
        Duration::from_secs(10),
    )
}

/// Shortens the timeout of a load and limits it to three requests, for pathologies that end in a
/// timeout.
pub fn impatient(load: &mut Load) {
    load.groups[0].timeout = Duration::from_millis(200);
    load.groups[0].shape = Shape::Closed(Closed {
        requests_max: Some(3),
        ..Closed::new(3)
    });
}

/// Makes the load closed, with this number of requests and connections.
pub fn requests(load: &mut Load, requests: u64, connections: u32) {
    load.groups[0].shape = Shape::Closed(Closed {
        requests_max: Some(requests),
        ..Closed::new(connections)
    });
}

/// Replaces the checks with one that searches the body, so bodies are kept.
pub fn keep_body(load: &mut Load) {
    let check = Check::BodyContains("nobody says this".into());
    load.groups[0].requests[0].checks = vec![check];
}

/// The caller must hold the lock of [`alone`].
pub fn watched(load: &Load) -> Outcome {
    let watchdog = Watchdog::start();
    let before = resident_kib("VmRSS:");
    // Writing 5 resets the peak (proc_pid_clear_refs(5)).
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let outcome = run(load, &Control::new(1), |_, _| {}).unwrap();
    let growth = resident_kib("VmHWM:").saturating_sub(before);
    drop(watchdog);
    assert!(growth < GROWTH_MAX_KIB, "the process grew by {growth} KiB");
    accounts_for_all(&outcome);
    outcome
}

pub fn alone() -> MutexGuard<'static, ()> {
    // A failure of another test does not affect this one.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asserts that each request that was sent got a response or failed, and that each failure is
/// recorded.
fn accounts_for_all(outcome: &Outcome) {
    let counts = &outcome.counts;
    let recorded = |class| {
        let found = outcome.recordings.get(&(Metric::Response, class));
        found.map_or(0, |it| it.histogram.len())
    };
    let answered: u64 = counts.by_class.iter().sum();
    let failed = recorded(Class::Failed) - counts.by_class[Class::Failed as usize];
    assert_eq!(answered, counts.completed, "{counts:?}");
    assert_eq!(counts.sent, counts.completed + failed, "{counts:?}");
    assert_eq!(failed, all_errors(counts), "{counts:?}");
    assert_eq!(counts.intended, counts.sent + counts.dropped, "{counts:?}");
}

fn resident_kib(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix(key)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Aborts the process if a load hangs, because a test whose thread does not return cannot fail.
struct Watchdog {
    _ends_when_dropped: mpsc::Sender<()>,
}

impl Watchdog {
    fn start() -> Self {
        let (sender, receiver) = mpsc::channel();
        let test = thread::current().name().unwrap_or("?").to_owned();
        thread::spawn(move || {
            if receiver.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{test}: the load has not ended within {HANG:?}");
                std::process::abort();
            }
        });
        Self {
            _ends_when_dropped: sender,
        }
    }
}
