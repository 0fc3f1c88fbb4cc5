//! The default formats of Envoy and Istio.

use memchr::memchr;

use super::{number, request_line};
use crate::time;
use crate::traffic::Hit;

pub(super) const EXAMPLE: &str = r#"[2025-04-15T20:17:00.310Z] "GET /a HTTP/2" 200 - 0 154 226 100 "203.0.113.9" "curl" "id" "host" "10.0.2.1:80""#;

/// Returns `None` for a line without an HTTP request. The error states what was expected.
pub(super) fn parse(line: &[u8]) -> Result<Option<Hit<'_>>, &'static str> {
    let rest = line
        .strip_prefix(b"[")
        .ok_or("a time in brackets at the beginning")?;
    let close = memchr(b']', rest).ok_or("a time in brackets at the beginning")?;
    let at_ms = time::iso(&rest[..close]).ok_or("a time such as [2025-04-15T20:17:00.310Z]")?;
    let rest = rest[close + 1..]
        .strip_prefix(b" \"")
        .ok_or("a request in quotes after the time")?;
    let end = request_line::end(rest).ok_or("a request in quotes after the time")?;
    let mut words = Words(&rest[end + 1..]).peekable();
    let status = words.next().and_then(number::<u16>);
    let status = status.ok_or("a status after the request")?;
    // Skip the response flags. Istio writes three more words before the sizes.
    words.next();
    let mut sizes = [None, None];
    for _ in 0..4 {
        if words.peek().copied().and_then(number::<u64>).is_some() {
            break;
        }
        words.next();
    }
    for size in &mut sizes {
        *size = words.next().and_then(number::<u64>);
    }
    let Some((method, target)) = request_line::parts(&rest[..end])? else {
        return Ok(None);
    };
    Ok(Some(Hit {
        at_ms,
        method,
        target,
        status,
        response_bytes: sizes[1],
        request_bytes: sizes[0],
        // The client's address follows the duration and the upstream's time.
        client: words.nth(2).unwrap_or_default(),
    }))
}

/// Iterates over words separated by spaces. Spaces within quotes belong to the word.
struct Words<'l>(&'l [u8]);

impl<'l> Iterator for Words<'l> {
    type Item = &'l [u8];

    fn next(&mut self) -> Option<&'l [u8]> {
        let start = self.0.iter().position(|byte| *byte != b' ')?;
        let rest = &self.0[start..];
        let (word, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => {
                let end = request_line::end(quoted).unwrap_or(quoted.len());
                (&quoted[..end], quoted.get(end + 1..).unwrap_or_default())
            }
            None => {
                let end = memchr(b' ', rest).unwrap_or(rest.len());
                (&rest[..end], &rest[end..])
            }
        };
        self.0 = after;
        Some(word)
    }
}
