//! The decoding of gzip bodies for checks.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Decodes a gzip body into at most `bytes_max` bytes, because the length of the body does not
/// bound the decoded length. For a damaged body, returns the bytes that were decoded before the
/// damage.
pub fn decoded(body: &[u8], bytes_max: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut kept = MultiGzDecoder::new(body).take(bytes_max as u64);
    // On an error, the bytes read before it are kept.
    let _ = kept.read_to_end(&mut plain);
    plain
}
