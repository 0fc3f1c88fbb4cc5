//! The normal form of paths of strict routes, and the characters that no target may contain.

use std::fmt::Write;

use super::Words;
use super::query::code;

const NOT_IN_PATH: u8 = 1;
const NOT_IN_QUERY: u8 = 2;
/// A slash or a dot. Two of these in a row, such as `//` or `/.`, require a full check.
const CUT: u8 = 4;
/// A `%` or `;`. Even one of these requires a full check.
const MARK: u8 = 8;
const QUERY: u8 = 16;

static CLASSES: [u8; 256] = {
    let mut classes = [NOT_IN_PATH | NOT_IN_QUERY; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = class(byte as u8);
        byte += 1;
    }
    classes
};

const fn class(byte: u8) -> u8 {
    match byte {
        b'/' | b'.' => CUT,
        b'%' | b';' => MARK,
        b'?' => QUERY,
        // RFC 3986 does not allow these in a query, but they are common there: `filter[name]=x`.
        b'[' | b']' => NOT_IN_PATH,
        _ if is_unreserved(byte) => 0,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b'=' | b':' | b'@' => 0,
        _ => NOT_IN_PATH | NOT_IN_QUERY,
    }
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The result of one pass over a path and its query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) path_bytes: usize,
    /// True if the path is in its normal form and has only one reading.
    pub(super) is_plain: bool,
}

pub(super) fn look(rest: &[u8]) -> Result<Look, Words> {
    let (mut found, mut pairs, mut before) = (0, 0, 0);
    let mut path_bytes = 0;
    for &byte in rest {
        let class = CLASSES[usize::from(byte)];
        if class == QUERY {
            break;
        }
        found |= class;
        pairs |= class & before;
        before = class;
        path_bytes += 1;
    }
    let (path, query) = rest.split_at(path_bytes);
    let in_query = query
        .iter()
        .fold(0, |found, &byte| found | CLASSES[usize::from(byte)]);
    if found & NOT_IN_PATH != 0 || in_query & NOT_IN_QUERY != 0 {
        return Err(
            "the target contains a character that RFC 3986 does not allow there; percent-encode it",
        );
    }
    let odd = (found & MARK) | (pairs & CUT);
    Ok(Look {
        path_bytes,
        is_plain: odd == 0 && path.last() != Some(&b'.'),
    })
}

/// The properties of a path that a strict route may accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) is_normal: bool,
    /// True if other programs may read the path as another one.
    pub(super) is_ambiguous: bool,
}

/// Returns the form of a path, or the reason that no strict route accepts it.
pub(super) fn judge(path: &str) -> Result<Form, Words> {
    let mut form = Form {
        is_normal: true,
        is_ambiguous: false,
    };
    // A path that does not begin with a slash belongs to no route.
    let Some(path) = path.strip_prefix('/') else {
        return Ok(form);
    };
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        if segment.is_empty() && !is_last {
            return Err("the target's path has an empty segment; write one slash for `//`");
        }
        judge_segment(segment.as_bytes(), &mut form)?;
    }
    Ok(form)
}

fn judge_segment(segment: &[u8], form: &mut Form) -> Result<(), Words> {
    // These variables describe the segment's name, which ends where its parameters begin.
    let (mut name_bytes, mut dots, mut is_name) = (0, 0, true);
    let mut last = 0;
    let mut at = 0;
    while at < segment.len() {
        let byte = match segment[at] {
            b'%' => {
                let digits = &segment[at + 1..];
                let Some(byte) = code(digits) else {
                    return Err("the target's path has a `%` that encodes nothing; write `%25`");
                };
                judge_encoded(byte, form)?;
                let is_lower = |digit: &u8| digit.is_ascii_lowercase();
                form.is_normal &= !(is_unreserved(byte) || digits[..2].iter().any(is_lower));
                at += 2;
                byte
            }
            b';' => {
                form.is_ambiguous = true;
                is_name = false;
                b';'
            }
            byte => byte,
        };
        if is_name {
            name_bytes += 1;
            dots += usize::from(byte == b'.');
        }
        last = byte;
        at += 1;
    }
    if (1..=2).contains(&dots) && dots == name_bytes {
        return Err("the target's path has a segment `.` or `..`; write the resolved path");
    }
    if name_bytes == 0 && !segment.is_empty() {
        return Err("the target's path has a segment that begins with `;`; leave it out");
    }
    // Some file systems drop dots and spaces at the end of a name.
    form.is_ambiguous |= matches!(last, b'.' | b' ');
    Ok(())
}

fn judge_encoded(byte: u8, form: &mut Form) -> Result<(), Words> {
    form.is_ambiguous |= match byte {
        b'/' => return Err("the target's path has an encoded slash; write `/`"),
        b'\\' => return Err("the target's path has an encoded backslash; leave it out"),
        0..=0x1F | 0x7F => {
            return Err("the target's path has an encoded control character; leave it out");
        }
        // A `#` would begin a fragment when decoded; the other bytes may begin overlong UTF-8,
        // which hides ASCII.
        b'#' | 0xC0 | 0xC1 | 0xE0 | 0xF0 | 0xF8..=0xFD => true,
        // Characters that may also occur unencoded in a path, or end it (`?`). Other servers may
        // read `%3A` as a colon.
        _ => CLASSES[usize::from(byte)] & NOT_IN_PATH == 0 && !is_unreserved(byte),
    };
    Ok(())
}

/// Writes the normal form of a path that [`judge`] accepted: unreserved characters unencoded,
/// percent-encodings in upper case (RFC 3986 6.2.2).
pub(super) fn normalize(path: &str, out: &mut String) {
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let (digits, after) = after.split_at_checked(2).unwrap_or((after, ""));
        match code(digits.as_bytes()) {
            Some(byte) if is_unreserved(byte) => out.push(char::from(byte)),
            _ => {
                out.push('%');
                out.extend(digits.chars().map(|digit| digit.to_ascii_uppercase()));
            }
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Percent-encodes the characters that no path may contain, including `?`, which ends a path.
/// Existing percent-encodings are kept.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if CLASSES[usize::from(byte)] & (NOT_IN_PATH | QUERY) == 0 {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Returns the normal form of a text that [`encoded`] has encoded.
pub(crate) fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    normalize(&encoded(text), &mut out);
    out
}

/// Reports whether `path` can be the prefix of a strict route: a path in its normal form.
pub(crate) fn is_normal(path: &str) -> bool {
    let is_path = path.starts_with('/') && !path.contains('?') && look(path.as_bytes()).is_ok();
    is_path && judge(path).is_ok_and(|form| form.is_normal)
}

/// Reports whether `path` can be the prefix of a verbatim route: any spelling of a path.
pub(crate) fn is_path(path: &str) -> bool {
    let is_encoded = |after: &str| code(after.as_bytes()).is_some();
    path.starts_with('/')
        && !path.contains('?')
        && look(path.as_bytes()).is_ok()
        && path.split('%').skip(1).all(is_encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_path_is_recognized() {
        for (path, expected) in [
            ("/", true),
            ("/a/b-c_d~e/f.g/!$&'()*+,=:@", true),
            ("/a/", true),
            ("*", true),
            ("", true),
            ("/a//b", false),
            ("/a/.b", false),
            ("/a./b", false),
            ("/a.", false),
            ("/a%20", false),
            ("/a;b", false),
        ] {
            let found = look(path.as_bytes()).unwrap();
            assert_eq!(
                (found.is_plain, found.path_bytes),
                (expected, path.len()),
                "{path}"
            );
        }
        assert_eq!(look(b"/a?b?c").unwrap().path_bytes, 2);
    }

    #[test]
    fn prefixes_are_in_the_form_that_requests_have() {
        for (path, normal, any) in [
            ("/", true, true),
            ("/a/b/", true, true),
            ("/caf%C3%A9/a%20b", true, true),
            ("/v1.", true, true),
            ("/a;b", true, true),
            ("/a//b", false, true),
            ("/a/..", false, true),
            ("/a/..;b", false, true),
            ("/;a", false, true),
            ("/%61", false, true),
            ("/%c3", false, true),
            ("/%2F", false, true),
            ("/%5C", false, true),
            ("/%00", false, true),
            ("/%zz", false, false),
            ("/a%", false, false),
            ("/a b", false, false),
            ("/a#", false, false),
            ("/a?", false, false),
            ("/[a]", false, false),
            ("a", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_normal(path), is_path(path)), (normal, any), "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_normal_form_is_normal_and_means_the_same(path in "(/[a-c.~;]{0,2}(%[2-7][0-9a-fA-F]){0,2}){1,3}") {
            if let Ok(form) = judge(&path) {
                let mut normal = String::new();
                normalize(&path, &mut normal);
                let again = judge(&normal).unwrap();
                proptest::prop_assert_eq!(again, Form { is_normal: true, ..form });
                proptest::prop_assert_eq!(form.is_normal, normal == path);
                let plain = |path: &str| {
                    let mut bytes = vec![0; path.len()];
                    // `decode` converts `+` to a space, but no path here contains a `+`.
                    let length = crate::path::query::decode(path, &mut bytes).unwrap();
                    bytes.truncate(length);
                    bytes
                };
                proptest::prop_assert_eq!(plain(&path), plain(&normal));
            }
        }

        #[test]
        fn no_input_panics(path in "\\PC*") {
            let _ = look(path.as_bytes());
            let _ = judge(&path);
            normalize(&path, &mut String::new());
            is_path(&path);
        }
    }
}
