//! Floods: input that costs a client little but could cost the gateway a lot. Each must end within
//! bounded time, CPU time and memory, while another client is served.

mod http1;
mod http2;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatebench_net::Backend;
use serde_json::json;

use crate::child::Gateway;
use crate::client::{self, Neighbor, connect};
use crate::event_loops::backends;
use crate::judge::{Tally, Verdict};
use crate::origin::{Origin, echo};
use crate::reader::Request;

/// The CPU time that one flood may cost a gateway built without optimization.
const CPU_MAX: Duration = Duration::from_secs(3);

/// The maximum, in bytes, by which the gateway's peak memory may exceed its memory before a flood.
const MEMORY_MAX: u64 = 64 << 20;

struct Flood {
    name: &'static str,
    /// Returns how the flood ended, or a description of the failure.
    attack: fn(SocketAddr) -> Result<End, String>,
    ends: Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The gateway refused the requests, or closed the connection.
    Cut,
    /// The gateway served the requests, or kept the connection open.
    Served,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Cut,
    Served,
    Either,
}

/// Runs all floods on one event loop after another, so that a flood on one event loop does not
/// delay the neighbor on another.
pub fn run() -> Tally {
    let mut all = Tally::of("floods");
    for backend in backends() {
        all.add(lane(backend));
    }
    all
}

fn lane(backend: Backend) -> Tally {
    let mock = json!({"status": 200, "content_type": "text/plain", "body": "mock"});
    let config = json!({
        "routes": [
            {"name": "all", "path": "/", "upstream": "origin"},
            {"name": "mock", "path": "/mock", "policies": [{"mock": mock}]},
        ],
        "timeouts": {"client_idle_ms": 500, "request_head_ms": 500, "request_body_ms": 700},
    });
    let origin = Origin::start(response);
    let mut gateway = Gateway::start(backend, &config, origin.address);
    let mut tally = Tally::of("floods");
    for flood in http2::FLOODS.iter().chain(http1::FLOODS) {
        let name = format!("{} ({})", flood.name, backend.as_str());
        let (verdict, neighbor) = unleash(flood, &mut gateway);
        tally.count(&name, verdict);
        tally.delayed(&name, neighbor.longest_delay);
        let complaints = neighbor.complaints.into_iter();
        tally
            .wrong
            .extend(complaints.map(|complaint| format!("{name}: {complaint}")));
        if gateway.has_crashed() {
            break;
        }
    }
    tally.crashes = usize::from(!gateway.end());
    tally
}

const LARGE_BYTES: usize = 4 << 20;

fn response(request: &Request) -> Vec<u8> {
    if request.target != "/large" {
        return echo(request);
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE_BYTES}\r\n\r\n");
    [head.into_bytes(), vec![b'x'; LARGE_BYTES]].concat()
}

/// Runs one flood. A neighbor must be served during the flood and after it.
fn unleash(flood: &Flood, gateway: &mut Gateway) -> (Verdict, Neighbor) {
    let (idle_bytes, _) = gateway.memory();
    let cpu = gateway.cpu();
    let is_over = AtomicBool::new(false);
    let address = gateway.address;
    let (end, neighbor) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut neighbor = Neighbor::new(address);
            while !is_over.load(Ordering::Acquire) {
                neighbor.ask();
                std::thread::sleep(Duration::from_millis(2));
            }
            neighbor.ask();
            neighbor
        });
        // A panic is caught, because the scope would otherwise wait for the neighbor forever.
        let end = std::panic::catch_unwind(|| (flood.attack)(address));
        is_over.store(true, Ordering::Release);
        (end, asking.join().unwrap())
    });
    let verdict = match end.unwrap_or_else(|_| Err("the attack panicked".into())) {
        Err(why) => Verdict::Wrong(why),
        Ok(_) if gateway.has_crashed() => Verdict::Wrong("the gateway ended".into()),
        Ok(end) => {
            let used = gateway.cpu().saturating_sub(cpu);
            let (_, peak_bytes) = gateway.memory();
            judge(flood, end, used, peak_bytes.saturating_sub(idle_bytes))
        }
    };
    (verdict, neighbor)
}

fn judge(flood: &Flood, end: End, cpu: Duration, grown_bytes: u64) -> Verdict {
    let is_right = match flood.ends {
        Ends::Cut => end == End::Cut,
        Ends::Served => end == End::Served,
        Ends::Either => true,
    };
    if !is_right {
        return Verdict::Wrong(format!("it ended as {end:?}"));
    }
    if cpu > CPU_MAX {
        return Verdict::Wrong(format!("it cost {cpu:?} of CPU time"));
    }
    if grown_bytes > MEMORY_MAX {
        return Verdict::Wrong(format!("memory grew by {} MiB", grown_bytes >> 20));
    }
    match end {
        End::Cut => Verdict::Rejected,
        End::Served => Verdict::Passed,
    }
}

fn open(address: SocketAddr) -> Result<TcpStream, String> {
    connect(address).ok_or_else(|| "no connection".into())
}

/// Sends bytes while reading responses, until the gateway closes the connection or a read times
/// out. Returns the bytes received, and whether the gateway closed the connection.
fn poured(stream: &mut TcpStream, bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut reader = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut said = Vec::new();
            let has_ended = client::rest(&mut reader, &mut said);
            (said, has_ended)
        });
        // The gateway may close the connection before it has received everything.
        let _ = stream.write_all(bytes);
        reading.join().unwrap()
    })
}

fn all_end(streams: Vec<TcpStream>) -> Result<End, String> {
    for (number, mut stream) in streams.into_iter().enumerate() {
        let mut said = Vec::new();
        if !client::rest(&mut stream, &mut said) {
            return Err(format!(
                "connection {number} stays open: {} bytes",
                said.len()
            ));
        }
    }
    Ok(End::Cut)
}
