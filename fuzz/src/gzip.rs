//! Bodies that are gzip.

use gatebench_engine::gzip::decoded;

/// Far above what inputs of the fuzzer decode to; what is above is cut off.
const KEPT_MAX_BYTES: usize = 1 << 20;

/// However little of it is kept, it is the beginning of all that the body says; and no more is kept.
pub fn bodies(data: &[u8]) {
    let Some(([low, high], body)) = data.split_first_chunk() else {
        return;
    };
    let all = decoded(body, KEPT_MAX_BYTES);
    assert!(all.len() <= KEPT_MAX_BYTES);
    let bytes_max = usize::from(u16::from_le_bytes([*low, *high]));
    let some = decoded(body, bytes_max);
    assert_eq!(some, all[..bytes_max.min(all.len())]);
    // Of a body that is cut short, what is left says the same as before.
    let cut = decoded(&body[..body.len() / 2], KEPT_MAX_BYTES);
    assert_eq!(cut, all[..cut.len()]);
}
