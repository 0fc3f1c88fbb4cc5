//! Measures the CPU time that a client needs for an HTTP/2 request: it encodes the request and
//! decodes a response of 202 bytes, all in memory and without a system call. In one case, the heads
//! of all responses are the same, as when nginx sends them within the same second. In the other
//! case, each head differs from the previous one, as when an embedded upstream writes its times
//! into the heads.
//!
//! `cargo run --release -p gatebench-net --example h2_cost`

use std::error::Error;

use gatebench_net::http2::{Block, Client, Event, Limits, Settings};
use rustix::time::{ClockId, clock_gettime};

/// The size of the body. With the head below, a response has 202 bytes.
const BODY_BYTES: u8 = 103;
const REQUESTS: u32 = 4_000_000;
const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// The frames of one response as nginx sends it, with its Date and Server Huffman-coded. The last
/// byte of its header block is the last digit of `gatebench-times`.
fn response() -> Vec<u8> {
    let mut block = Block::response(200);
    block
        .field("server", b"nginx/1.22.1")
        .field("date", b"Sat, 21 Nov 2026 14:34:46 GMT")
        .field("content-type", b"application/json")
        .field("content-length", BODY_BYTES.to_string().as_bytes());
    block.variable("gatebench-times", b"0123456789");
    let mut frames = vec![0, 0, block.bytes().len() as u8, 1, 4, 0, 0, 0, 0];
    frames.extend(block.bytes());
    frames.extend([0, 0, BODY_BYTES, 0, 1, 0, 0, 0, 0]);
    frames.extend(vec![b'x'; usize::from(BODY_BYTES)]);
    frames
}

/// One response to each of `streams` requests; [`Responses::prepare`] sets the stream numbers.
struct Responses {
    bytes: Vec<u8>,
    /// The positions of the stream numbers, two for each response.
    numbers_at: Vec<[usize; 2]>,
}

impl Responses {
    fn new(streams: usize) -> Self {
        let one = response();
        let second = 9 + usize::from(one[2]);
        let starts = (0..streams).map(|at| at * one.len());
        Self {
            bytes: one.repeat(streams),
            numbers_at: starts
                .map(|start| [start + 5, start + second + 5])
                .collect(),
        }
    }

    /// Writes the stream number of a response, and `last` as the last byte of its header block.
    fn prepare(&mut self, at: usize, number: u32, last: u8) {
        let end_of_block = self.numbers_at[at][1] - 6;
        self.bytes[end_of_block] = last;
        for place in self.numbers_at[at] {
            self.bytes[place..place + 4].copy_from_slice(&number.to_be_bytes());
        }
    }
}

/// CPU time of this thread, which other processes on the machine hardly affect.
fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the CPU time per request, in nanoseconds.
fn measure(streams: usize, heads_differ: bool) -> Result<f64, Box<dyn Error>> {
    let mut client = Client::new(Settings::default(), Limits::default());
    let mut out = Vec::new();
    client.preface(&mut out);
    let mut block = Block::request("GET", "http", "127.0.0.1:8080", "/calculator?a=1&b=2");
    let nonce = block.variable("gatebench-nonce", b"0000000000000000");
    client.next(&mut &EMPTY_SETTINGS[..], &mut out)?;
    let mut responses = Responses::new(streams);
    let rounds = REQUESTS as usize / streams;
    let (mut good, mut body_bytes) = (0_u64, 0_usize);
    let start_ns = cpu_ns();
    for round in 0..rounds {
        out.clear();
        for at in 0..streams {
            block.set(&nonce, &(round as u128).to_be_bytes());
            let stream = client.request(&block, b"", &mut out).ok_or("no stream")?;
            let last = if heads_differ {
                b'0' + (at + round) as u8 % 10
            } else {
                b'0'
            };
            responses.prepare(at, stream.number(), last);
        }
        let mut input = &responses.bytes[..];
        while let Some(event) = client.next(&mut input, &mut out)? {
            match event {
                Event::Head { head, .. } => {
                    let is_traced = head.field("gatebench-times").is_some();
                    good += u64::from(head.status() == 200 && is_traced);
                }
                Event::Body { bytes, .. } => body_bytes += bytes.len(),
                _ => {}
            }
        }
    }
    let elapsed_ns = (cpu_ns() - start_ns) as f64;
    let done = rounds * streams;
    if good != done as u64 || body_bytes != usize::from(BODY_BYTES) * done {
        return Err("a request got no response".into());
    }
    Ok(elapsed_ns / done as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let length = response().len();
    println!("responses of {length} bytes on the wire");
    for streams in [1, 10, 100] {
        let same = measure(streams, false)?;
        let different = measure(streams, true)?;
        println!("{streams:>4} streams: {same:.0} ns; {different:.0} ns with heads that differ");
    }
    Ok(())
}
