//! Bodies that are gzip, where a check looks at them.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// What a gzip body says, up to so many bytes of it: its own length does not bound what it decodes to.
/// Of one that is damaged, what came before the damage, but for what the decoder had not handed out.
pub fn decoded(body: &[u8], bytes_max: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut kept = MultiGzDecoder::new(body).take(bytes_max as u64);
    // An error leaves what was read before it.
    let _ = kept.read_to_end(&mut plain);
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn encoded(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_follow_one_another() {
        let two = [encoded(b"one, "), encoded(b"two")].concat();
        assert_eq!(decoded(&two, 100), b"one, two");
    }

    #[test]
    fn no_more_is_decoded_than_is_kept() {
        assert_eq!(decoded(&encoded(&[0; 1_000_000]), 1_000), [0; 1_000]);
    }

    #[test]
    fn what_came_before_the_damage_is_kept() {
        let body = [encoded(b"whole"), b"\x1f\x8b\x08 broken".to_vec()].concat();
        assert_eq!(decoded(&body, 100), b"whole");
        assert_eq!(decoded(b"not gzip", 100), b"");
    }
}
