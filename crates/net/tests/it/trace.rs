//! Tests the encoding and parsing of nonces and times in header fields.

use gatebench_net::trace::{Nonce, TIMES_BYTES, Times};

#[test]
fn the_parts_of_a_nonce_are_read_back() {
    let nonce = Nonce::new(0xbeef, 7, 0x12_3456_789a);
    assert_eq!(nonce.0, 0xbeef_0712_3456_789a);
    assert_eq!((nonce.tag(), nonce.worker()), (0xbeef, 7));
    assert_eq!(nonce.sequence(), 0x12_3456_789a);
    assert_eq!(Nonce::new(1, 2, Nonce::SEQUENCE_END + 5).sequence(), 5);
}

#[test]
fn a_nonce_is_sixteen_hexadecimal_digits() {
    let nonce = Nonce::new(0xbeef, 7, 0x12_3456_789a);
    assert_eq!(&nonce.to_hex(), b"beef07123456789a");
    assert_eq!(Nonce::from_hex(b"BEEF07123456789a"), Some(nonce));
    for wrong in [
        &b""[..],
        b"beef07123456789",
        b"beef07123456789a0",
        b"beef0712 456789a",
    ] {
        assert_eq!(Nonce::from_hex(wrong), None);
    }
    assert_eq!(Nonce::from_hex(b"beef07123456789g"), None);
}

#[test]
fn times_have_a_fixed_width() {
    let times = Times {
        nonce: Nonce::new(1, 2, 3),
        received_ns: 0xdead_beef,
        service_ns: u64::MAX,
    };
    let mut value = [0; TIMES_BYTES];
    times.write(&mut value);
    assert_eq!(
        &value,
        b"0001020000000003-00000000deadbeef-ffffffffffffffff"
    );
    assert_eq!(Times::parse(&value), Some(times));
}

#[test]
fn malformed_times_are_refused() {
    let good = b"0001020000000003-00000000deadbeef-ffffffffffffffff";
    assert!(Times::parse(good).is_some());
    assert_eq!(Times::parse(&good[1..]), None);
    for at in 0..TIMES_BYTES {
        let mut wrong = *good;
        wrong[at] = b'x';
        assert_eq!(Times::parse(&wrong), None, "byte {at}");
    }
}
