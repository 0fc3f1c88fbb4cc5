//! RSA public keys, as `openssl pkey -pubout` prints them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pkcs1::RsaPublicKeyRef;
use spki::SubjectPublicKeyInfoRef;

use crate::policy::JwtPublicKey;

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

/// The modulus and exponent of an RSA public key, big-endian and without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaNumbers {
    pub n: Vec<u8>,
    pub e: Vec<u8>,
}

/// The reason why a string is not an RSA public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRsaKey {
    #[error("this is not a public key in PEM")]
    NoPem,
    #[error("the PEM block contains no RSA public key")]
    OtherKey,
}

impl JwtPublicKey {
    /// # Errors
    /// The text is not PEM, or the key is not an RSA key.
    pub fn numbers(&self) -> Result<RsaNumbers, NoRsaKey> {
        let der = pem(&self.public_key).ok_or(NoRsaKey::NoPem)?;
        numbers(&der).ok_or(NoRsaKey::OtherKey)
    }
}

fn pem(text: &str) -> Option<Vec<u8>> {
    let (_, after) = text.split_once(BEGIN)?;
    let (inside, _) = after.split_once(END)?;
    let compact: String = inside.split_ascii_whitespace().collect();
    STANDARD.decode(compact).ok()
}

/// Returns the modulus and exponent in a `SubjectPublicKeyInfo` (RFC 5280 section 4.1) of an
/// `RSAPublicKey` (RFC 8017 A.1.1).
fn numbers(der: &[u8]) -> Option<RsaNumbers> {
    let info = SubjectPublicKeyInfoRef::try_from(der).ok()?;
    if info.algorithm != pkcs1::ALGORITHM_ID {
        return None;
    }
    let key = RsaPublicKeyRef::try_from(info.subject_public_key.as_bytes()?).ok()?;
    Some(RsaNumbers {
        n: key.modulus.as_bytes().to_vec(),
        e: key.public_exponent.as_bytes().to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGER: u8 = 0x02;
    const BIT_STRING: u8 = 0x03;
    const SEQUENCE: u8 = 0x30;
    /// rsaEncryption, 1.2.840.113549.1.1.1, with its tag, its length and the NULL after it.
    const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    const N: &[u8] = &[0, 0xc1, 7];
    const E: &[u8] = &[1, 0, 1];

    /// A DER element whose contents have at most 127 bytes.
    fn element(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
        let contents = contents.concat();
        let length = u8::try_from(contents.len()).unwrap_or(u8::MAX);
        [&[tag, length], &*contents].concat()
    }

    fn key_of(algorithm: &[u8], n: &[u8], after: &[u8]) -> Vec<u8> {
        let numbers = [element(INTEGER, &[n]), element(INTEGER, &[E]), after.into()];
        let key = element(SEQUENCE, &[&numbers.concat()]);
        let bits = element(BIT_STRING, &[&[0], &key]);
        element(SEQUENCE, &[&element(SEQUENCE, &[algorithm]), &bits])
    }

    #[test]
    fn numbers_have_no_leading_zeros() {
        let found = numbers(&key_of(RSA, N, &[]));
        let (n, e) = (N[1..].to_vec(), E.to_vec());
        assert_eq!(found, Some(RsaNumbers { n, e }));
    }

    #[test]
    fn only_whole_keys_in_der_are_accepted() {
        let der = key_of(RSA, N, &[]);
        for end in 0..der.len() {
            assert_eq!(numbers(&der[..end]), None, "{end} bytes");
        }
        assert_eq!(numbers(&[&*der, &[0]].concat()), None, "trailing byte");
        assert_eq!(numbers(&key_of(RSA, N, &[5, 0])), None, "third member");
        assert_eq!(numbers(&key_of(RSA, &N[1..], &[])), None, "negative");
        assert_eq!(numbers(&key_of(&RSA[..11], N, &[])), None, "no NULL");
        let elliptic = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x05\x00";
        assert_eq!(numbers(&key_of(elliptic, N, &[])), None, "other algorithm");
        assert_eq!(numbers(&[SEQUENCE, 0x84, 0xff]), None);
        assert_eq!(numbers(&[SEQUENCE, 2, 1]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(der in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            numbers(&der);
            numbers(&[&[SEQUENCE, 0x40, SEQUENCE, 13][..], RSA, &[BIT_STRING], &der].concat());
        }
    }
}
