//! The examples of RFC 7541 Appendix C, the Huffman code, and invalid blocks.
use proptest::prelude::*;

use super::{Decoder, HpackError, huffman, integer};
use crate::http2::Head;
use crate::http2::fields::Fields;

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, HpackError> {
    let mut fields = Fields::new(1 << 20);
    decoder.decode(block, &mut fields)?;
    Ok(fields)
}

/// Decodes a block and compares the fields with the expected lines, pseudo-header fields first;
/// then compares the size of the table.
fn example(decoder: &mut Decoder, hex: &str, expected: &[&str], table_bytes: usize) {
    let fields = decode(decoder, &unhex(hex)).unwrap();
    let head = Head::new(&fields, fields.check_response().unwrap_or(0));
    let status = head.status().to_string();
    let mut lines = Vec::new();
    for (name, value) in [
        (":method", head.method()),
        (":scheme", head.scheme()),
        (":path", head.path()),
        (":authority", head.authority()),
        (
            ":status",
            if head.status() == 0 {
                b""
            } else {
                status.as_bytes()
            },
        ),
    ] {
        if !value.is_empty() {
            lines.push(format!("{name}: {}", value.escape_ascii()));
        }
    }
    for field in head.fields() {
        lines.push(format!("{}: {}", field.name, field.value.escape_ascii()));
    }
    assert_eq!(lines, expected);
    assert_eq!(decoder.table().size, table_bytes);
}

#[test]
fn integers_of_appendix_c_1() {
    for (bytes, prefix_bits, value) in [
        (&[0b0000_1010][..], 5, 10),
        (&[0b0001_1111, 0b1001_1010, 0b0000_1010], 5, 1337),
        (&[0b0010_1010], 7, 42),
        (&[0xff, 0x80, 0xff, 0xff, 0xff, 0x0f], 7, u32::MAX),
    ] {
        assert_eq!(integer::read(&mut &bytes[..], prefix_bits), Ok(value));
        if value != 42 && value != 10 {
            let mut written = Vec::new();
            let flags = bytes[0] & !((1 << prefix_bits) - 1);
            integer::write(&mut written, flags, prefix_bits, value as usize);
            assert_eq!(written, bytes);
        }
    }
}

#[test]
fn truncated_integers_and_those_beyond_32_bits_are_errors() {
    for (bytes, error) in [
        (
            &[0xff, 0x81, 0xff, 0xff, 0xff, 0x0f][..],
            HpackError::Integer,
        ),
        (
            &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
            HpackError::Integer,
        ),
        (&[0xff, 0x80], HpackError::Truncated),
        (&[], HpackError::Truncated),
    ] {
        assert_eq!(integer::read(&mut &bytes[..], 7), Err(error));
    }
}

#[test]
fn representations_of_appendix_c_2() {
    let decoder = &mut Decoder::new();
    let literal = "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    example(decoder, literal, &["custom-key: custom-header"], 55);
    example(
        decoder,
        "040c 2f73 616d 706c 652f 7061 7468",
        &[":path: /sample/path"],
        55,
    );
    example(
        decoder,
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        &["password: secret"],
        55,
    );
    example(decoder, "82", &[":method: GET"], 55);
}

/// C.3 and C.4 encode the same three requests.
fn requests(blocks: [&str; 3]) {
    let decoder = &mut Decoder::new();
    let first = [
        ":method: GET",
        ":scheme: http",
        ":path: /",
        ":authority: www.example.com",
    ];
    example(decoder, blocks[0], &first, 57);
    let second = [&first[..], &["cache-control: no-cache"]].concat();
    example(decoder, blocks[1], &second, 110);
    let third = [
        ":method: GET",
        ":scheme: https",
        ":path: /index.html",
        ":authority: www.example.com",
        "custom-key: custom-value",
    ];
    example(decoder, blocks[2], &third, 164);
}

#[test]
fn requests_of_appendix_c_3_and_c_4() {
    requests([
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ]);
    requests([
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ]);
}

/// C.5 and C.6 encode the same three responses. The table of 256 bytes must evict entries.
fn responses(blocks: [&str; 3]) {
    let decoder = &mut Decoder::new();
    decoder.table().set_size_max(256);
    let first = [
        ":status: 302",
        "cache-control: private",
        "date: Mon, 21 Oct 2013 20:13:21 GMT",
        "location: https://www.example.com",
    ];
    example(decoder, blocks[0], &first, 222);
    let second = [&[":status: 307"], &first[1..]].concat();
    example(decoder, blocks[1], &second, 222);
    let third = [
        ":status: 200",
        "cache-control: private",
        "date: Mon, 21 Oct 2013 20:13:22 GMT",
        "location: https://www.example.com",
        "content-encoding: gzip",
        "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ];
    example(decoder, blocks[2], &third, 215);
}

#[test]
fn responses_of_appendix_c_5_and_c_6() {
    responses([
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 \
         2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 \
         6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d \
         54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 \
         5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ]);
    responses([
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 \
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab \
         77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f \
         9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ]);
}

#[test]
fn wrong_blocks_are_errors() {
    for (hex, error) in [
        ("80", HpackError::Index { index: 0 }),
        ("be", HpackError::Index { index: 62 }),
        ("7f00 0161", HpackError::Index { index: 63 }),
        ("0001", HpackError::Truncated),
        ("0001 61", HpackError::Truncated),
        ("0001 6105 61", HpackError::Truncated),
        ("8220", HpackError::TableUpdateLate),
        (
            "3fe2 1f",
            HpackError::TableSize {
                bytes: 4097,
                limit: 4096,
            },
        ),
        // In this order, the next three strings contain EOS, eleven bits of padding, and padding of
        // zeros.
        ("0001 6184 ffff ffff", HpackError::Huffman),
        ("0001 6182 1fff", HpackError::Huffman),
        ("0001 6181 18", HpackError::Huffman),
    ] {
        let error_of = decode(&mut Decoder::new(), &unhex(hex)).unwrap_err();
        assert_eq!(error_of, error, "{hex}");
    }
}

#[test]
fn a_lowered_table_has_to_be_confirmed() {
    let mut decoder = Decoder::new();
    decoder.limit_table(100);
    let missing = decode(&mut decoder, &[0x82]).unwrap_err();
    assert_eq!(missing, HpackError::TableUpdateMissing);
    decode(&mut decoder, &unhex("3f45 82")).unwrap();
    decode(&mut decoder, &[0x82]).unwrap();
    let beyond = HpackError::TableSize {
        bytes: 101,
        limit: 100,
    };
    assert_eq!(decode(&mut decoder, &unhex("3f46")).unwrap_err(), beyond);
}

#[test]
fn a_field_larger_than_the_table_empties_it() {
    let mut decoder = Decoder::new();
    decoder.table().set_size_max(64);
    decode(&mut decoder, &unhex("4001 6101 62")).unwrap();
    assert_eq!(decoder.table().size, 34);
    let long = [&[0x40, 1, b'a', 40][..], &[b'x'; 40]].concat();
    decode(&mut decoder, &long).unwrap();
    assert_eq!(decoder.table().size, 0);
}

/// A block that repeats the previous one is not decoded again, unless it changes the table or the
/// limit of the table has changed.
#[test]
fn equal_blocks_may_mean_different_fields() {
    let mut decoder = Decoder::new();
    let mut fields = Fields::new(1 << 10);
    let names = |fields: &Fields| {
        let fields = Head::new(fields, 0).fields();
        fields
            .map(|field| field.name.to_owned())
            .collect::<Vec<_>>()
    };
    for (hex, expected) in [
        ("4001 6101 78", "a"),
        ("be", "a"),
        ("be", "a"),
        ("4001 6201 78", "b"),
        ("4001 6201 78", "b"),
        ("bf", "b"),
        ("4001 6301 78", "c"),
        ("bf", "b"),
        ("bf", "b"),
        ("be", "c"),
    ] {
        decoder.decode(&unhex(hex), &mut fields).unwrap();
        assert_eq!(names(&fields), [expected]);
    }
    decoder.decode(&[], &mut fields).unwrap();
    assert!(names(&fields).is_empty());
    decoder.decode(&unhex("be"), &mut fields).unwrap();
    decoder.limit_table(0);
    let missing = Err(HpackError::TableUpdateMissing);
    assert_eq!(decoder.decode(&unhex("be"), &mut fields), missing);
}

#[test]
fn fields_beyond_the_limit_are_dropped_but_enter_the_table() {
    let mut decoder = Decoder::new();
    let mut fields = Fields::new(40);
    decoder
        .decode(&unhex("4001 6101 62 4001 6301 64"), &mut fields)
        .unwrap();
    assert!(fields.is_too_large);
    assert_eq!(Head::new(&fields, 0).fields().len(), 1);
    let again = decode(&mut decoder, &[0xbe, 0xbf]).unwrap();
    assert_eq!(Head::new(&again, 0).field("c"), Some(&b"d"[..]));
}

#[test]
fn an_endlessly_repeated_field_is_not_decoded_to_its_end() {
    let mut decoder = Decoder::new();
    let mut fields = Fields::new(40);
    // The field takes 34 bytes of the list. With its second occurrence, the list exceeds the limit,
    // and with the nineteenth, the bound on decoding.
    let named = |count: usize| [&unhex("4001 6101 62")[..], &vec![0xbe; count]].concat();
    decoder.decode(&named(17), &mut fields).unwrap();
    assert!(fields.is_too_large);
    let limit = 640;
    let endless = Err(HpackError::ListTooLarge { limit });
    assert_eq!(decoder.decode(&named(10_000), &mut fields), endless);
}

#[test]
fn the_code_of_each_byte_is_read_back() {
    for byte in 0..=255_u8 {
        for count in 1..9 {
            let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
            huffman::encode(&vec![byte; count], &mut encoded);
            assert_eq!(encoded.len(), huffman::encoded_len(&vec![byte; count]));
            huffman::decode(&encoded, &mut decoded).unwrap();
            assert_eq!(decoded, vec![byte; count]);
        }
    }
}

proptest! {
    #[test]
    fn encoded_huffman_text_is_read_back(bytes in any::<Vec<u8>>()) {
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        huffman::encode(&bytes, &mut encoded);
        huffman::decode(&encoded, &mut decoded).unwrap();
        prop_assert_eq!(decoded, bytes);
    }

    /// Each string has exactly one valid encoding.
    #[test]
    fn decoded_huffman_text_encodes_to_itself(bytes in any::<Vec<u8>>()) {
        let (mut decoded, mut encoded) = (Vec::new(), Vec::new());
        if huffman::decode(&bytes, &mut decoded).is_ok() {
            huffman::encode(&decoded, &mut encoded);
            prop_assert_eq!(encoded, bytes);
        }
    }

    #[test]
    fn arbitrary_blocks_keep_the_bounds(blocks in proptest::collection::vec(any::<Vec<u8>>(), 1..8)) {
        let mut decoder = Decoder::new();
        let mut fields = Fields::new(200);
        for block in blocks {
            if decoder.decode(&block, &mut fields).is_err() {
                break;
            }
            prop_assert!(decoder.table().size <= 4096);
            prop_assert!(fields.bytes().len() <= 200);
        }
    }
}
