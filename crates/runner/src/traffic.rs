//! What goes over the wire, beside what the scenario asks for: counted around each load, and tried once
//! before it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use gatebench_model::{Request, Scenario};
use gatebench_net::http1::ResponseReader;
use gatebench_probe::{FileSizes, Sampler, grown_bytes};
use gatebench_store::{Buffering, GatewayWire, UpstreamWire, WireFacts};
use gatebench_upstream::{PAUSE_HEADER, Snapshot};

use crate::exchange::render;
use crate::halt::Halt;
use crate::ledger;
use crate::parity::Place;
use crate::wire::Line;

/// A thread that did this part of the work is one of the workers.
const BUSY_PART: u64 = 20;
/// How long an answer pauses in the middle, and how long the rest of a request is kept back.
const PAUSE: Duration = Duration::from_millis(100);
/// What comes so long before the end was passed on before it; half of the pause, for a busy machine.
const AHEAD: Duration = Duration::from_millis(50);
/// How long any of it may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often the ledger is asked meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The gateway's processes before a load.
pub(crate) struct Outside {
    threads: BTreeMap<(u32, u32), u64>,
    files: FileSizes,
}

impl Outside {
    /// Reads a file of each thread and descriptor: not during a measurement.
    pub(crate) fn of(gateway: &Sampler) -> Self {
        Self::new(gateway.thread_cpu_ns(), gateway.written_files())
    }

    /// CPU time of each thread, and the sizes of the files that are written.
    pub(crate) fn new(threads: BTreeMap<(u32, u32), u64>, files: FileSizes) -> Self {
        Self { threads, files }
    }

    /// What has become of them.
    pub(crate) fn until(&self, after: &Self) -> GatewayWire {
        let worked = |(thread, cpu_ns): (&(u32, u32), &u64)| {
            cpu_ns.saturating_sub(self.threads.get(thread).copied().unwrap_or(0))
        };
        let worked: Vec<u64> = after.threads.iter().map(worked).collect();
        let all: u64 = worked.iter().sum();
        let busy = worked
            .iter()
            .filter(|own| **own > 0 && **own * BUSY_PART >= all);
        GatewayWire {
            written_bytes: grown_bytes(&self.files, &after.files),
            threads: count(after.threads.len()),
            threads_busy: count(busy.count()),
        }
    }
}

/// What the upstream's ledger gained.
fn upstream(before: &Snapshot, after: &Snapshot) -> UpstreamWire {
    let gained = |of: fn(&Snapshot) -> u64| of(after).saturating_sub(of(before));
    UpstreamWire {
        requests: gained(|it| it.begun),
        connections: gained(|it| it.connections_accepted),
        http10: gained(|it| it.http10),
        http2: gained(|it| it.http2),
        fields: gained(|it| it.fields),
        head_bytes: gained(|it| it.head_bytes),
        body_bytes: gained(|it| it.body_bytes),
    }
}

/// Everything counted of one load, from the ledger and the processes before and after it.
pub(crate) fn facts(
    (answers, client_connections): (u64, u64),
    ledger: Option<(&Snapshot, &Snapshot)>,
    gateway: Option<(&Outside, &Outside)>,
) -> WireFacts {
    WireFacts {
        answers,
        client_connections,
        upstream: ledger.map(|(before, after)| upstream(before, after)),
        gateway: gateway.map(|(before, after)| before.until(after)),
    }
}

/// Tries with a request of the load whether the gateway passes on what it has of a message. What cannot
/// be tried is left open: policies refuse, gateways answer by themselves.
pub(crate) fn buffering(
    scenario: &Scenario,
    samples: &[Request],
    place: &Place<'_>,
) -> Result<Buffering, Halt> {
    let Some(upstream) = &place.upstream else {
        return Ok(Buffering::default());
    };
    let proxied = |request: &&Request| !scenario.gateway_answers(request);
    let Some(request) = samples.iter().find(proxied) else {
        return Ok(Buffering::default());
    };
    let begun = || ledger::read(upstream, place.interrupt).map(|ledger| ledger.begun);
    let passes_requests = match request.body {
        Some(_) => sees_the_beginning(request, place, begun)?,
        None => None,
    };
    // Whatever goes wrong here is found by the parity cases and the load.
    let passes_answers = answer_ahead(request, place).unwrap_or(None);
    Ok(Buffering {
        passes_requests,
        passes_answers,
    })
}

/// Whether the upstream sees the request while its last byte is kept back.
fn sees_the_beginning(
    request: &Request,
    place: &Place<'_>,
    begun: impl Fn() -> Result<u64, Halt>,
) -> Result<Option<bool>, Halt> {
    let bytes = render(request, &place.target.address.to_string(), None);
    let (most, last) = bytes.split_at(bytes.len().saturating_sub(1));
    let before = begun()?;
    let sent = connect(place).and_then(|mut stream| stream.write_all(most).map(|()| stream));
    let Ok(mut stream) = sent else {
        return Ok(None);
    };
    let until = Instant::now() + PAUSE;
    let mut seen = false;
    while !seen && Instant::now() < until {
        seen = begun()? > before;
        std::thread::sleep(LOOK_EVERY);
    }
    let answered = stream
        .write_all(last)
        .and_then(|()| read_answer(&mut stream, request.method == "HEAD"));
    // A request that never gets there says nothing of how it would.
    let reached = answered.is_ok() && begun()? > before;
    Ok(reached.then_some(seen))
}

/// Whether a part of the answer's body comes well before its end, where the upstream pauses between.
fn answer_ahead(request: &Request, place: &Place<'_>) -> io::Result<Option<bool>> {
    let mut paused = request.clone();
    let pause = PAUSE.as_millis().to_string();
    paused.headers.insert(PAUSE_HEADER.to_owned(), pause);
    let bytes = render(&paused, &place.target.address.to_string(), None);
    let mut stream = connect(place)?;
    let begun = Instant::now();
    stream.write_all(&bytes)?;
    let came = read_answer(&mut stream, request.method == "HEAD")?;
    // An answer without a pause is not the upstream's, or has no body to pause in.
    let paused = came.end.duration_since(begun) >= PAUSE;
    let ahead = came
        .first
        .map(|first| came.end.duration_since(first) >= AHEAD);
    Ok(ahead.filter(|_| paused))
}

/// When an answer came.
struct Came {
    /// The first byte of its body; none without a body.
    first: Option<Instant>,
    /// Its last byte.
    end: Instant,
}

fn connect(place: &Place<'_>) -> io::Result<Line> {
    place.target.connect(TIMEOUT, TIMEOUT)
}

fn read_answer(stream: &mut Line, is_head: bool) -> io::Result<Came> {
    let mut response = ResponseReader::new(stream, is_head);
    let mut first = None;
    loop {
        let is_whole = match response.advance() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let now = Instant::now();
        if !response.take_piece().is_empty() {
            first = first.or(Some(now));
        }
        if is_whole {
            return Ok(Came { first, end: now });
        }
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(threads: &[((u32, u32), u64)], files: &[((u64, u64), u64)]) -> Outside {
        Outside {
            threads: threads.iter().copied().collect(),
            files: files.iter().copied().collect(),
        }
    }

    #[test]
    fn workers_are_the_threads_that_worked() {
        let before = outside(&[((1, 1), 900), ((1, 2), 100)], &[((0, 7), 10)]);
        let threads = [((1, 1), 900), ((1, 2), 1_090), ((1, 3), 50), ((1, 4), 9)];
        let after = outside(&threads, &[((0, 7), 40), ((0, 8), 5)]);
        let wire = before.until(&after);
        // 990, 50 (new) and 9 (new) of 1,049: a twentieth is 52.
        assert_eq!((wire.threads, wire.threads_busy), (4, 1));
        assert_eq!(wire.written_bytes, 35);
    }

    #[test]
    fn who_does_nothing_has_no_workers() {
        let idle = outside(&[((1, 1), 5)], &[]);
        assert_eq!(idle.until(&idle).threads_busy, 0);
    }

    #[test]
    fn the_ledger_of_a_load_is_what_was_gained() {
        let before = Snapshot {
            begun: 3,
            fields: 10,
            connections_accepted: 2,
            ..Snapshot::default()
        };
        let after = Snapshot {
            begun: 13,
            fields: 50,
            connections_accepted: 6,
            http10: 1,
            ..Snapshot::default()
        };
        let wire = upstream(&before, &after);
        assert_eq!((wire.requests, wire.fields), (10, 40));
        assert_eq!((wire.connections, wire.http10), (4, 1));
    }
}
