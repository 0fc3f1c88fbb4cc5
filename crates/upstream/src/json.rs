//! Writes JSON directly into a response.

use std::borrow::Cow;

pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    // Writing a string to a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_string(out, &String::from_utf8_lossy(bytes));
}

/// Writes the pairs of a query or a form as an object. The values of a repeated name become an
/// array.
pub(crate) fn write_pairs(out: &mut Vec<u8>, encoded: &str) {
    let mut pairs: Vec<(Cow<'_, str>, Vec<Cow<'_, str>>)> = Vec::new();
    for pair in encoded.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name), decode(value));
        match pairs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => pairs.push((name, vec![value])),
        }
    }
    out.push(b'{');
    for (at, (name, values)) in pairs.iter().enumerate() {
        separate(out, at);
        write_string(out, name);
        out.push(b':');
        match &values[..] {
            [only] => write_string(out, only),
            several => {
                out.push(b'[');
                for (at, value) in several.iter().enumerate() {
                    separate(out, at);
                    write_string(out, value);
                }
                out.push(b']');
            }
        }
    }
    out.push(b'}');
}

/// Writes a comma unless `at`, the index of the next member, is 0.
pub(crate) fn separate(out: &mut Vec<u8>, at: usize) {
    if at > 0 {
        out.push(b',');
    }
}

/// Decodes `%XX` and `+`. Invalid escapes are kept.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let value = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(encoded: &str) -> String {
        let mut out = Vec::new();
        write_pairs(&mut out, encoded);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn pairs_become_an_object() {
        for (encoded, object) in [
            ("", "{}"),
            ("a=1&b&&c=x%20y+z%C3%A9", r#"{"a":"1","b":"","c":"x y zé"}"#),
            ("a=1&a=2", r#"{"a":["1","2"]}"#),
            ("a=%&b=%4&c=%zz", r#"{"a":"%","b":"%4","c":"%zz"}"#),
            ("d=%+1", r#"{"d":"% 1"}"#),
        ] {
            assert_eq!(pairs(encoded), object);
        }
    }

    #[test]
    fn text_is_escaped() {
        let mut out = Vec::new();
        write_bytes(&mut out, b"a\"\\\n\xff");
        assert_eq!(out, "\"a\\\"\\\\\\n\u{fffd}\"".as_bytes());
    }

    proptest::proptest! {
        #[test]
        fn any_query_becomes_json(query in ".{0,60}") {
            let text = pairs(&query);
            proptest::prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
