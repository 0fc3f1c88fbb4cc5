//! HAProxy's format of HTTP logs, with or without a syslog prefix.

use memchr::{memchr, memmem};

use super::request_line;
use crate::time;
use crate::traffic::Hit;

/// An example for error messages.
pub(super) const EXAMPLE: &str = r#"203.0.113.9:33317 [06/Feb/2025:12:14:14.655] in app/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /a HTTP/1.1""#;

/// Reads a line. Otherwise returns the expectation that the line does not meet.
pub(super) fn parse(line: &[u8]) -> Result<Option<Hit<'_>>, &'static str> {
    // The syslog prefix contains brackets too, but without a space before them.
    let open = memmem::find(line, b" [").ok_or("a time in brackets")? + 2;
    let close = open + memchr(b']', &line[open..]).ok_or("a time in brackets")?;
    let at_ms = time::common(&line[open..close]);
    let at_ms = at_ms.ok_or("a time such as [06/Feb/2025:12:14:14.655]")?;
    let rest = &line[close + 1..];
    let quote = memchr(b'"', rest).ok_or("a request in quotes")?;
    let mut words = rest[..quote]
        .split(|byte| *byte == b' ')
        .filter(|it| !it.is_empty());
    let timers = words
        .nth(2)
        .ok_or("five times after the server, such as 10/0/30/69/109")?;
    if timers.iter().filter(|byte| **byte == b'/').count() != 4 {
        return Err("five times after the server, such as 10/0/30/69/109");
    }
    let status = words
        .next()
        .and_then(super::number::<u16>)
        .ok_or("a status after the times")?;
    let response_bytes = words.next().and_then(super::number::<u64>);
    let request = &rest[quote + 1..];
    let end = request_line::end(request).ok_or("a request in quotes")?;
    let Some((method, target)) = request_line::parts(&request[..end])? else {
        return Ok(None);
    };
    let client = line[..open - 2]
        .rsplit(|byte| *byte == b' ')
        .next()
        .unwrap_or_default();
    let port = client
        .iter()
        .rposition(|byte| *byte == b':')
        .unwrap_or(client.len());
    Ok(Some(Hit {
        at_ms,
        method,
        target,
        status,
        response_bytes,
        request_bytes: None,
        client: &client[..port],
    }))
}
