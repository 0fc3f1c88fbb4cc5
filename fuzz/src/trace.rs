//! The values of the header fields that contain a nonce or the times of the upstream.

use gatebench_net::trace::{Nonce, TIMES_BYTES, Times};

/// Checks that a value is the same after parsing and writing, except for the case of its digits.
pub fn values(data: &[u8]) {
    if let Some(times) = Times::parse(data) {
        let mut written = [0; TIMES_BYTES];
        times.write(&mut written);
        assert!(written.eq_ignore_ascii_case(data));
    }
    if let Some(nonce) = Nonce::from_hex(data) {
        assert!(nonce.to_hex().eq_ignore_ascii_case(data));
    }
}
