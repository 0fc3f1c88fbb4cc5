//! Decodes gzip bodies for checks.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Returns at most `bytes_max` bytes, because a short body may decode to a huge one. If the body is
/// damaged, returns only the bytes before the damage.
pub fn decoded(body: &[u8], bytes_max: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut kept = MultiGzDecoder::new(body).take(bytes_max as u64);
    let _ = kept.read_to_end(&mut plain);
    plain
}
