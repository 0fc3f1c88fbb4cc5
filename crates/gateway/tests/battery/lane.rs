//! Runs a battery on each event loop, with vectors sent whole and in pieces.

use std::net::TcpStream;

use gatebench_net::Backend;
use serde_json::{Value, json};

use crate::child::Gateway;
use crate::client::{Heard, Manner, Neighbor, connect, send};
use crate::event_loops::backends;
use crate::judge::{Tally, judge, sorted};
use crate::origin::{Origin, echo};
use crate::vector::{Vector, marked};

/// A table of vectors, with the configuration of the gateway that receives them.
pub struct Battery {
    pub name: &'static str,
    /// The configuration without its listener and upstream, whose ports are known only later.
    pub config: Value,
    pub vectors: Vec<Vector>,
    pub hear: fn(&mut TcpStream) -> Heard,
}

impl Battery {
    /// A battery for a gateway that forwards everything and has short deadlines.
    pub fn of_one_route(
        name: &'static str,
        vectors: Vec<Vector>,
        hear: fn(&mut TcpStream) -> Heard,
    ) -> Self {
        Self {
            name,
            config: json!({
                "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
                "timeouts": {"client_idle_ms": 5000, "request_head_ms": 2500, "request_body_ms": 2500},
            }),
            vectors,
            hear,
        }
    }
}

/// One in this many vectors is sent byte by byte, unless it [waits](Vector::waits) or is longer
/// than [`BYTEWISE_BYTES_MAX`].
const BYTEWISE: usize = 16;
const BYTEWISE_BYTES_MAX: usize = 1000;

/// Runs a battery on all event loops at the same time.
pub fn run(battery: &Battery) -> Tally {
    let lanes = std::thread::scope(|scope| {
        let run_on = |backend| {
            scope.spawn(move || {
                let mut tally = Tally::of(battery.name);
                for manner in [Manner::Whole, Manner::Cut, Manner::Bytes] {
                    tally.add(lane(battery, backend, manner));
                }
                tally
            })
        };
        let lanes: Vec<_> = backends().into_iter().map(run_on).collect();
        let joined = lanes.into_iter().map(|lane| lane.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    let mut all = Tally::of(battery.name);
    for tally in lanes {
        all.add(tally);
    }
    all
}

fn lane(battery: &Battery, backend: Backend, manner: Manner) -> Tally {
    let origin = Origin::start(echo);
    let mut gateway = Gateway::start(backend, &battery.config, origin.address);
    let mut neighbor = Neighbor::new(gateway.address);
    let is_sent = |(number, vector): &(usize, &Vector)| match manner {
        Manner::Whole => true,
        Manner::Cut => !vector.waits,
        Manner::Bytes => {
            let is_short = vector.bytes.len() <= BYTEWISE_BYTES_MAX;
            number.is_multiple_of(BYTEWISE) && is_short && !vector.waits
        }
    };
    let mut heard = Vec::new();
    let mut waiting = Vec::new();
    for (number, vector) in battery.vectors.iter().enumerate().filter(is_sent) {
        let Some(mut stream) = connect(gateway.address) else {
            break;
        };
        send(&mut stream, &marked(&vector.bytes, number), manner, number);
        neighbor.ask();
        if vector.waits {
            waiting.push((number, stream));
        } else {
            heard.push((number, (battery.hear)(&mut stream)));
        }
        if gateway.has_crashed() {
            break;
        }
    }
    for (number, mut stream) in waiting {
        heard.push((number, (battery.hear)(&mut stream)));
        neighbor.ask();
    }
    neighbor.ask();
    let mut tally = Tally::of(battery.name);
    let place = format!("{}, {manner:?}", backend.as_str());
    tally.delayed(&place, neighbor.longest_delay);
    tally.crashes = usize::from(!gateway.end());
    let (found, strays) = sorted(origin.records(), battery.vectors.len());
    for (number, heard) in heard {
        let vector = &battery.vectors[number];
        let verdict = judge(vector, number, &heard, &found[number]);
        tally.count(&format!("{} ({place})", vector.name), verdict);
    }
    let complaints = neighbor.complaints.into_iter().chain(strays);
    tally
        .wrong
        .extend(complaints.map(|complaint| format!("{place}: {complaint}")));
    tally
}
