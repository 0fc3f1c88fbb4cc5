//! The `common` and `combined` formats of nginx, Apache and Kong, optionally followed by other
//! text.

use memchr::{memchr, memmem};

use super::{brackets, last_word, number, request_line, words};
use crate::time;
use crate::traffic::Hit;

pub(super) const EXAMPLE: &str =
    r#"203.0.113.9 - - [10/Oct/2025:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326"#;

/// Returns `None` for a line without an HTTP request. The error states what was expected.
pub(super) fn parse(line: &[u8]) -> Result<Option<Hit<'_>>, &'static str> {
    let (open, close) = brackets(line).ok_or("a time in brackets")?;
    let at_ms = time::common(&line[open..close]);
    let at_ms = at_ms.ok_or("a time such as [10/Oct/2025:13:55:36 +0000]")?;
    let rest = line[close + 1..]
        .strip_prefix(b" \"")
        .ok_or("a request in quotes after the time")?;
    let end = request_line::end(rest).ok_or("a request in quotes after the time")?;
    let mut words = words(&rest[end + 1..]);
    let status = words.next().and_then(number::<u16>);
    let status = status.ok_or("a status after the request")?;
    let response_bytes = words.next().and_then(number::<u64>);
    let Some((method, target)) = request_line::parts(&rest[..end])? else {
        return Ok(None);
    };
    Ok(Some(Hit {
        at_ms,
        method,
        target,
        status,
        response_bytes,
        request_bytes: None,
        client: client(&line[..open - 2]),
    }))
}

/// Returns the client's address, which precedes ` - user`. A server name may precede the address.
fn client(head: &[u8]) -> &[u8] {
    let end = memmem::find(head, b" - ").or_else(|| memchr(b' ', head));
    last_word(&head[..end.unwrap_or(head.len())])
}
