//! Tests the decoding of gzip bodies.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use gatebench_engine::gzip::decoded;

fn encoded(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn members_are_decoded_in_sequence() {
    let two = [encoded(b"one, "), encoded(b"two")].concat();
    assert_eq!(decoded(&two, 100), b"one, two");
}

#[test]
fn decoding_stops_at_the_kept_size() {
    assert_eq!(decoded(&encoded(&[0; 1_000_000]), 1_000), [0; 1_000]);
}

#[test]
fn bytes_before_the_damage_are_kept() {
    let body = [encoded(b"whole"), b"\x1f\x8b\x08 broken".to_vec()].concat();
    assert_eq!(decoded(&body, 100), b"whole");
    assert_eq!(decoded(b"not gzip", 100), b"");
}
