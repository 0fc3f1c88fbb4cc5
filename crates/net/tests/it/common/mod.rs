//! What the tests of several protocols share.

use std::io::{ErrorKind, Read};

/// Receives once. After a signal a read with a timeout is not restarted (signal(7)).
pub fn receive(stream: &mut impl Read, buffer: &mut [u8]) -> usize {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome.unwrap(),
        }
    }
}
