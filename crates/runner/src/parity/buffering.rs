//! Tries, once before the load, whether a gateway passes on a message in parts.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use gatebench_model::{Request, Scenario};
use gatebench_net::http1::ResponseReader;
use gatebench_store::Buffering;
use gatebench_upstream::PAUSE_HEADER;

use super::Place;
use crate::abort::Abort;
use crate::http_probe::render;
use crate::http_probe::wire::Line;
use crate::testbed::ledger;

/// How long an answer pauses in the middle, and how long the rest of a request is kept back.
const PAUSE: Duration = Duration::from_millis(100);
/// What comes so long before the end was passed on before it; half of the pause, for a busy machine.
const AHEAD: Duration = Duration::from_millis(50);
/// How long any of it may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often the ledger is asked meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Tries with a request of the load whether the gateway passes on what it has of a message. What cannot
/// be tried is left open: policies refuse, gateways answer by themselves.
pub(crate) fn buffering(
    scenario: &Scenario,
    samples: &[Request],
    place: &Place<'_>,
) -> Result<Buffering, Abort> {
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
    begun: impl Fn() -> Result<u64, Abort>,
) -> Result<Option<bool>, Abort> {
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
