//! The ways in which upstreams are known to read a path. A route's upstream may use any of these
//! ways, so all of them are checked.
//!
//! - Percent-encodings are kept, decoded once, or decoded again if decoding creates new ones.
//!   Encoded slashes and backslashes are decoded with the rest, or kept.
//! - A backslash is read as itself or as a slash.
//! - The text after `;` in a segment is kept, or is dropped before or after decoding.
//! - Empty segments are kept, or are dropped before or after dot segments are resolved.
//! - Spaces and dots at the end of a segment are kept or dropped; a path ends at its last byte, or
//!   at an encoded NUL, `?` or `#`.
//! - Dot segments are resolved (RFC 3986 5.2.4), or are ordinary segments.
//!
//! Different programs apply these steps in different orders, so each step is also applied to the
//! results of the others. Overlong UTF-8 is refused: no path needs it, and some programs decode it
//! as ASCII.

use std::collections::BTreeSet;

use super::query::code;

/// The maximum number of times that a path may be decoded.
const ROUNDS_MAX: usize = 3;

/// The maximum length, in bytes, of a path that is examined. Longer paths are refused, because
/// every reading of a path is checked, and there may be dozens.
const BYTES_MAX: usize = 4096;

/// The maximum total size, in bytes, of the results of all steps for a path. A repeated result
/// counts again.
const READ_BYTES_MAX: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    TurnBackslashes,
    LeaveOutParameters,
    ResolveDots,
    LeaveOutEmpty,
    /// Removes spaces and dots at the ends of segments (but keeps `.` and `..`), and everything
    /// from the first NUL, `?` or `#` on.
    Trim,
}

const STEPS: [Step; 5] = [
    Step::TurnBackslashes,
    Step::LeaveOutParameters,
    Step::ResolveDots,
    Step::LeaveOutEmpty,
    Step::Trim,
];

/// Calls a function with every reading of a path until it rejects one. Returns false if it rejected
/// one, or if the path is too long, has too many readings, needs too many rounds of decoding, or
/// may hide ASCII.
pub(super) fn all(path: &[u8], mut is_fine: impl FnMut(&[u8]) -> bool) -> bool {
    if path.len() > BYTES_MAX {
        return false;
    }
    let mut seen = BTreeSet::new();
    let mut read_bytes = 0;
    let mut open = vec![path.to_vec()];
    for round in 0.. {
        let mut decodings = Vec::new();
        while let Some(text) = open.pop() {
            if seen.contains(&text) {
                continue;
            }
            if round > ROUNDS_MAX || hides_ascii(&text) || !is_fine(&text) {
                return false;
            }
            for step in STEPS {
                let reading = read(&text, step);
                read_bytes += reading.len();
                open.push(reading);
            }
            if read_bytes > READ_BYTES_MAX {
                return false;
            }
            decodings.push(decoded(&text, |_| true));
            decodings.push(decoded(&text, |byte| !matches!(byte, b'/' | b'\\')));
            seen.insert(text);
        }
        if decodings.is_empty() {
            break;
        }
        open = decodings;
    }
    true
}

pub(crate) fn without_parameters(path: &str) -> String {
    let segments = path.split('/');
    let names = segments.filter_map(|segment| segment.split(';').next());
    names.collect::<Vec<_>>().join("/")
}

fn name(segment: &[u8]) -> &[u8] {
    let end = segment.iter().position(|&byte| byte == b';');
    &segment[..end.unwrap_or(segment.len())]
}

fn read(text: &[u8], step: Step) -> Vec<u8> {
    let is_end = |byte: &u8| step == Step::Trim && matches!(byte, 0 | b'?' | b'#');
    let end = text.iter().position(is_end).unwrap_or(text.len());
    let turns = step == Step::TurnBackslashes;
    let is_slash = |byte: &u8| *byte == b'/' || turns && *byte == b'\\';
    let mut segments: Vec<&[u8]> = Vec::new();
    // The last segment is empty if the path ends with a slash or with a resolved dot segment.
    let mut is_open = true;
    for segment in text[..end].split(is_slash).skip(1) {
        is_open = true;
        let kept = match (step, segment) {
            (Step::ResolveDots, b".") | (Step::LeaveOutEmpty, b"") => continue,
            (Step::ResolveDots, b"..") => {
                segments.pop();
                continue;
            }
            (Step::LeaveOutParameters, _) => name(segment),
            (Step::Trim, _) => match trimmed(segment, b" ") {
                dots @ (b"." | b"..") => dots,
                _ => trimmed(segment, b" ."),
            },
            _ => segment,
        };
        is_open = false;
        segments.push(kept);
    }
    let mut path = Vec::with_capacity(text.len() + 1);
    for segment in segments {
        path.push(b'/');
        path.extend_from_slice(segment);
    }
    if is_open {
        path.push(b'/');
    }
    path
}

fn trimmed<'t>(mut text: &'t [u8], ends: &[u8]) -> &'t [u8] {
    while let Some((last, rest)) = text.split_last()
        && ends.contains(last)
    {
        text = rest;
    }
    text
}

/// Decodes, once, the percent-encodings of bytes that `is_decoded` selects. A `%` that encodes
/// nothing is kept.
fn decoded(text: &[u8], is_decoded: fn(u8) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = if byte == b'%' { code(after) } else { None };
        let encoded = encoded.filter(|&byte| is_decoded(byte));
        out.push(encoded.unwrap_or(byte));
        rest = match encoded {
            Some(_) => &after[2..],
            None => after,
        };
    }
    out
}

/// Reports whether a string may hide ASCII: as overlong UTF-8 (RFC 3629 3), or as `%u0061`, which
/// HTTP.sys decodes.
fn hides_ascii(text: &[u8]) -> bool {
    let is_overlong = |two: &[u8]| {
        matches!(
            two,
            [0xC0 | 0xC1 | 0xF8..=0xFD, 0x80..=0xBF] | [0xE0, 0x80..=0x9F] | [0xF0, 0x80..=0x8F]
        )
    };
    let is_wide = |six: &[u8]| matches!(six, [b'%', b'u' | b'U', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit));
    text.windows(2).any(is_overlong) || text.windows(6).any(is_wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(path: &str) -> Option<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        let is_read = all(path.as_bytes(), |reading| {
            found.insert(String::from_utf8_lossy(reading).into_owned());
            true
        });
        is_read.then_some(found)
    }

    fn are(path: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|&one| one.to_owned()).collect();
        assert_eq!(readings(path), Some(expected), "{path}");
    }

    #[test]
    fn a_plain_path_has_one_reading() {
        for path in ["/", "/a", "/a/b/", "/a.b/c-d", "/.well-known"] {
            are(path, &[path]);
        }
    }

    #[test]
    fn each_step_gives_a_reading() {
        are("/a//b", &["/a//b", "/a/b"]);
        are("/a/../b", &["/a/../b", "/b"]);
        are("/a/./b/..", &["/a/./b/..", "/a/"]);
        are("/../../a", &["/../../a", "/a"]);
        are("/a//../b", &["/a//../b", "/a/../b", "/a/b", "/b"]);
        are(
            "/a/b//..//c",
            &["/a/b//..//c", "/a/b/../c", "/a/b//c", "/a/b/c", "/a/c"],
        );
        are("/a;b/c", &["/a;b/c", "/a/c"]);
        are("/a%5Cb", &["/a%5Cb", "/a\\b", "/a/b"]);
        are("/a%2561", &["/a%2561", "/a%61", "/aa"]);
        are("/a%20", &["/a%20", "/a ", "/a"]);
        are("/a./b", &["/a./b", "/a/b"]);
        are("/a/.../b", &["/a/.../b", "/a//b", "/a/b"]);
        are("/a%00b", &["/a%00b", "/a\0b", "/a"]);
        are("/a%3Fb", &["/a%3Fb", "/a?b", "/a"]);
        are("/%2E%2E%20/a", &["/%2E%2E%20/a", "/.. /a", "/../a", "/a"]);
    }

    #[test]
    fn steps_apply_in_any_order() {
        for (path, expected) in [
            // Decoded except for the slash.
            ("/%61/..%2Fb", "/a/..%2Fb"),
            // Resolved, then decoded, but not resolved again.
            ("/x/../a%2F..%2Fb", "/a/../b"),
            // Without parameters, then decoded, then resolved.
            ("/a;x/%2E%2E;y/b", "/b"),
            ("/a%3Bx/..%5Cb", "/a/..%5Cb"),
        ] {
            let found = readings(path).unwrap_or_default();
            assert!(found.contains(expected), "{path}: {found:?}");
        }
    }

    #[test]
    fn unreadable_paths_are_refused() {
        assert_eq!(readings("/a%C0%AFb"), None);
        assert_eq!(readings("/a%E0%80%AFb"), None);
        assert_eq!(readings("/x/..%FC%80%80%80%80%AFadmin"), None);
        assert_eq!(readings("/x/..%F8%80%80%80%AFadmin"), None);
        assert_eq!(readings("/%u0061dmin"), None);
        assert_eq!(readings("/%25U0061dmin"), None);
        assert_eq!(readings("/a%25252525"), None);
        assert_eq!(readings(&format!("/{}", "a".repeat(BYTES_MAX))), None);
        let odd = "a;b/%2e%2e%5c%20//c.%3b/".repeat(150);
        assert_eq!(
            readings(&format!("/{odd}")),
            None,
            "the path has too many readings"
        );
        assert!(!all(b"/a;b", |reading| reading != b"/a"));
    }

    #[test]
    fn parameters_are_left_out_of_each_segment() {
        for (path, expected) in [("/a;b/c;d=e;f/g", "/a/c/g"), ("/;a/b", "//b"), ("/a", "/a")] {
            assert_eq!(without_parameters(path), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics_and_readings_are_paths(path in "/[a/.;%\\\\? 0-9A-F]{0,24}") {
            all(path.as_bytes(), |reading| {
                assert!(reading.starts_with(b"/"), "{path}");
                true
            });
        }
    }
}
