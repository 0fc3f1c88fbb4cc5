//! Bodies compressed with gzip.

use gatebench_engine::gzip::decoded;

const KEPT_MAX_BYTES: usize = 1 << 20;

/// Checks that the decoder returns at most the allowed number of bytes. The text decoded with a
/// lower limit, and the text decoded from half of the body, must agree with the text decoded from
/// the whole body up to the end of the shorter text. Any of the three texts may be the shortest,
/// because the decoder may drop the last bytes before damaged data.
pub fn bodies(data: &[u8]) {
    let Some(([low, high], body)) = data.split_first_chunk() else {
        return;
    };
    let bytes_max = usize::from(u16::from_le_bytes([*low, *high]));
    let all = decoded(body, KEPT_MAX_BYTES);
    let some = decoded(body, bytes_max);
    let cut = decoded(&body[..body.len() / 2], KEPT_MAX_BYTES);
    assert!(all.len() <= KEPT_MAX_BYTES && cut.len() <= KEPT_MAX_BYTES);
    assert!(some.len() <= bytes_max);
    for other in [some, cut] {
        let both = all.len().min(other.len());
        assert_eq!(all[..both], other[..both]);
    }
}
