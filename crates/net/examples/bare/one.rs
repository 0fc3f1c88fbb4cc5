//! Measures the duration of a round trip on one connection, with one request at a time.

use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use crate::{Failure, Found, Work};

/// Sends a request and waits for the whole response, repeatedly. With `spin`, the thread polls the
/// socket until there are bytes; otherwise it sleeps in the read.
pub fn run(work: &Work, spin: bool) -> Result<Found, Failure> {
    let mut stream = work.connect()?;
    stream.set_nonblocking(spin)?;
    let mut chunk = vec![0; 64 * 1024];
    let mut times_ns = Vec::new();
    let began = Instant::now();
    let mut sent = began;
    while sent - began < work.length {
        // The socket's send buffer is empty and takes a small request at once. With `spin`, a
        // request that does not fit fails with EAGAIN.
        stream.write_all(&work.request)?;
        let mut missing = work.response_bytes;
        while missing > 0 {
            match stream.read(&mut chunk) {
                Ok(0) => return Err("the server closed the connection".into()),
                Ok(bytes) => missing = missing.saturating_sub(bytes),
                Err(error) if spin && error.kind() == ErrorKind::WouldBlock => {
                    std::hint::spin_loop();
                }
                Err(error) => return Err(error.into()),
            }
        }
        let now = Instant::now();
        times_ns.push(u64::try_from((now - sent).as_nanos())?);
        sent = now;
    }
    times_ns.sort_unstable();
    // The nearest-rank percentile: the smallest value that is at least as large as the share `q` of
    // all values.
    let quantile = |q: f64| {
        let rank = (times_ns.len() as f64 * q).ceil() as usize;
        times_ns[rank.clamp(1, times_ns.len()) - 1]
    };
    let percentiles = format!(
        ",\"p50_ns\":{},\"p90_ns\":{},\"p99_ns\":{},\"p99_9_ns\":{}",
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999)
    );
    Ok(Found {
        requests: times_ns.len() as u64,
        seconds: (sent - began).as_secs_f64(),
        percentiles,
    })
}
