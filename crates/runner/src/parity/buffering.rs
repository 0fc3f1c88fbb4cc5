//! Tests, once before the load, whether a gateway forwards messages in parts.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use gatebench_model::{Request, Scenario};
use gatebench_net::http1::ResponseReader;
use gatebench_store::Buffering;
use gatebench_testbed::Line;
use gatebench_upstream::PAUSE_HEADER;

use super::Place;
use crate::abort::Abort;
use crate::http_probe::render;
use crate::ledger;

/// The pause in the middle of a response, and the maximum delay of the last byte of a request.
const PAUSE: Duration = Duration::from_millis(100);
/// The minimum time between the arrivals of the first and the last part of a response that is
/// forwarded in parts: half of the pause, because the machine may be busy.
const AHEAD: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between reads of the ledger.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Tests with a request of the load whether the gateway forwards incomplete messages. There is no
/// result if the gateway itself responds to every request, or if the upstream is the user's own and
/// has no ledger.
pub(crate) fn buffering(
    scenario: &Scenario,
    samples: &[Request],
    place: &Place<'_>,
) -> Result<Buffering, Abort> {
    let proxied = |request: &&Request| !scenario.gateway_responds_to(request);
    let known = samples.iter().find(proxied);
    let Some(request) = known.filter(|_| !place.upstream.is_empty()) else {
        return Ok(Buffering::default());
    };
    let begun = || {
        let begun = ledger::begun(&place.upstream, place.interrupt)?;
        Ok(begun.iter().sum())
    };
    let passes_requests = match request.body {
        Some(_) => sees_the_beginning(request, place, begun)?,
        None => None,
    };
    // An error is ignored, because it does not show how the gateway forwards responses.
    let passes_responses = response_ahead(request, place).unwrap_or(None);
    Ok(Buffering {
        passes_requests,
        passes_responses,
    })
}

/// Reports whether the request reaches the upstream while its last byte is held back; `None` if it
/// fails or never reaches the upstream.
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
        .and_then(|()| read_response(&mut stream, request.method == "HEAD"));
    let reached = answered.is_ok() && begun()? > before;
    Ok(reached.then_some(seen))
}

/// Reports whether a part of the response's body arrives well before its end, while the upstream
/// pauses; `None` if there was no pause, or the response has no body.
fn response_ahead(request: &Request, place: &Place<'_>) -> io::Result<Option<bool>> {
    let mut paused = request.clone();
    let pause = PAUSE.as_millis().to_string();
    paused.headers.insert(PAUSE_HEADER.to_owned(), pause);
    let bytes = render(&paused, &place.target.address.to_string(), None);
    let mut stream = connect(place)?;
    let begun = Instant::now();
    stream.write_all(&bytes)?;
    let (first, end) = read_response(&mut stream, request.method == "HEAD")?;
    // If there was no pause, the response does not come from the upstream, or has no body.
    let paused = end.duration_since(begun) >= PAUSE;
    let ahead = first.map(|first| end.duration_since(first) >= AHEAD);
    Ok(ahead.filter(|_| paused))
}

fn connect(place: &Place<'_>) -> io::Result<Line> {
    place.target.connect(TIMEOUT, TIMEOUT)
}

/// Reads a response. Returns the arrival times of the first byte of the body (`None` without a
/// body) and of the last byte of the response.
fn read_response(stream: &mut Line, is_head: bool) -> io::Result<(Option<Instant>, Instant)> {
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
            return Ok((first, now));
        }
    }
}
