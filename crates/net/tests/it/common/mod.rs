//! Helpers shared by the tests of several protocols.

use std::io::{ErrorKind, Read};

use gatebench_net::{Event, Io};

/// Receives once. After a signal, the kernel does not restart a read with a timeout (signal(7)), so
/// this function does.
pub fn receive(stream: &mut impl Read, buffer: &mut [u8]) -> usize {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome.unwrap(),
        }
    }
}

/// Polls until `wanted` returns something, for up to 20 s.
pub fn until<I: Io, T>(io: &mut I, mut wanted: impl FnMut(&mut I, Event) -> Option<T>) -> T {
    let limit = io.now_ns() + 20_000_000_000;
    let mut events = Vec::new();
    while io.now_ns() < limit {
        io.poll(Some(limit), &mut events).unwrap();
        let mut found = None;
        for event in events.drain(..) {
            if found.is_none() {
                found = wanted(io, event);
            }
        }
        if let Some(found) = found {
            return found;
        }
    }
    panic!("no such event within 20 s");
}
