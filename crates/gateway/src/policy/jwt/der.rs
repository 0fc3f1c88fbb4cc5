//! The little of DER (X.690) that a public key in PEM needs.

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;
/// rsaEncryption, 1.2.840.113549.1.1.1, with its tag, its length and the NULL after it.
const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";

/// Modulus and exponent of an RSA key in a SubjectPublicKeyInfo (RFC 5280 section 4.1, RFC 8017 A.1.1).
pub(super) fn public_key(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (info, []) = element(der, SEQUENCE)? else {
        return None;
    };
    let (algorithm, rest) = element(info, SEQUENCE)?;
    let (bits, []) = element(rest, BIT_STRING)? else {
        return None;
    };
    let (key, []) = element(bits.strip_prefix(&[0])?, SEQUENCE)? else {
        return None;
    };
    let (n, rest) = element(key, INTEGER)?;
    let (e, []) = element(rest, INTEGER)? else {
        return None;
    };
    (algorithm == RSA).then_some((n, e))
}

/// The contents of the element at the front, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let rest = der.strip_prefix(&[tag])?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&low, rest) = rest.split_first()?;
            (usize::from(low), rest)
        }
        0x82 => {
            let (bytes, rest) = rest.split_at_checked(2)?;
            (usize::from(bytes[0]) << 8 | usize::from(bytes[1]), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(der in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            public_key(&der);
            public_key(&[&[SEQUENCE, 0x40, SEQUENCE, 13][..], RSA, &[BIT_STRING], &der].concat());
        }
    }
}
