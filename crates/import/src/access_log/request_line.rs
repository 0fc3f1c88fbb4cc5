//! The request line `GET /a?b HTTP/1.1`, as quoted in logs.

use memchr::{memchr, memchr2};

/// Finds the end of a quoted string: the first quote that is not escaped by a backslash.
pub(super) fn end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[found] == b'"' {
            return Some(found);
        }
        at = found + 2;
    }
}

/// Returns the method and target, or `None` if the line is not an HTTP request. Servers log an
/// invalid request line as they received it.
pub(super) fn parts(line: &[u8]) -> Result<Option<(&str, &str)>, &'static str> {
    let Some(space) = memchr(b' ', line) else {
        return Ok(None);
    };
    let (method, rest) = (&line[..space], &line[space + 1..]);
    if method.is_empty() || !method.iter().all(u8::is_ascii_uppercase) {
        return Ok(None);
    }
    let target = &rest[..memchr(b' ', rest).unwrap_or(rest.len())];
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "a request in UTF-8");
    Ok(Some((text(method)?, text(target)?)))
}
