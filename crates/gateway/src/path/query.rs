//! Parameters of a query (`application/x-www-form-urlencoded`, as defined by the URL standard).

use std::borrow::Cow;

pub(crate) fn query_of(target: &str) -> &str {
    target.split_once('?').map_or("", |(_, query)| query)
}

/// Returns the names and values of a query's parameters, still encoded; a value may be empty.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Decodes `+` and `%XX` into a buffer; any other `%` is kept. Returns the decoded length, or
/// `None` if the buffer is too small.
pub(crate) fn decode(written: &str, buffer: &mut [u8]) -> Option<usize> {
    let mut bytes = written.as_bytes();
    let mut length = 0;
    while let Some((&first, rest)) = bytes.split_first() {
        let (byte, rest) = match first {
            b'+' => (b' ', rest),
            b'%' => match code(rest) {
                Some(byte) => (byte, &rest[2..]),
                None => (b'%', rest),
            },
            _ => (first, rest),
        };
        *buffer.get_mut(length)? = byte;
        length += 1;
        bytes = rest;
    }
    Some(length)
}

/// Decodes `%XX` and, with `is_form`, `+`. Returns `None` if the result is not UTF-8.
pub(crate) fn decoded(text: &str, is_form: bool) -> Option<Cow<'_, str>> {
    let is_plain = |byte: u8| byte != b'%' && !(is_form && byte == b'+');
    if text.bytes().all(is_plain) {
        return Some(Cow::Borrowed(text));
    }
    let written = match is_form {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.replace('+', "%2B")),
    };
    let mut bytes = vec![0; written.len()];
    let length = decode(&written, &mut bytes)?;
    bytes.truncate(length);
    Some(Cow::Owned(String::from_utf8(bytes).ok()?))
}

/// Returns the byte that the first two characters, as hexadecimal digits, represent.
pub(crate) fn code(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn encoded_text_is_decoded(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            let written: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
            let mut buffer = [0; 64];
            let length = decode(&written, &mut buffer).unwrap();
            proptest::prop_assert_eq!(&buffer[..length], &bytes[..]);
        }
    }
}
