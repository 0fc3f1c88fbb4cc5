//! Tests that Redis replies are parsed correctly however the received bytes are split.

use gatebench_gateway::fuzzing::replies;

#[test]
fn fragmented_replies_are_read() {
    let all = b":42\r\n+OK\r\n-ERR no\r\n$5\r\na\r\nbc\r\n$-1\r\n:-2\r\n";
    let expected = [
        "Integer(42)",
        "Fine",
        "Error(\"ERR no\")",
        "Fine",
        "Fine",
        "Integer(-2)",
        "Integer(7)",
    ];
    for cut in 0..=all.len() {
        // The last reply can be read only if the replies before it were removed completely.
        let (found, is_resp) = replies(&[&all[..cut], &all[cut..], b":7\r\n"]);
        assert_eq!(found, expected, "{cut}");
        assert!(is_resp);
    }
}

#[test]
fn other_input_is_not_a_reply() {
    for wrong in [
        &b":x\r\n"[..],
        b"\r\n",
        b"!\r\n",
        b":1\n",
        b"$99999\r\n",
        b"*1\r\n",
        b":\xff\r\n",
    ] {
        assert_eq!(replies(&[wrong]), (Vec::new(), false), "{wrong:?}");
    }
    assert_eq!(replies(&[&[b'+'; 5000][..]]), (Vec::new(), false));
}

proptest::proptest! {
    #[test]
    fn no_input_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        replies(&[&bytes[..]]);
    }
}
