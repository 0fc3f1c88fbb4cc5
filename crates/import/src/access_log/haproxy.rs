//! HAProxy's HTTP log format, with or without a syslog prefix.

use memchr::memchr;

use super::{brackets, last_word, number, request_line, words};
use crate::time;
use crate::traffic::Hit;

pub(super) const EXAMPLE: &str = r#"203.0.113.9:33317 [06/Feb/2025:12:14:14.655] in app/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /a HTTP/1.1""#;

/// Returns `None` for a line without an HTTP request. The error states what was expected.
pub(super) fn parse(line: &[u8]) -> Result<Option<Hit<'_>>, &'static str> {
    // The syslog prefix also contains brackets, but without a space before them.
    let (open, close) = brackets(line).ok_or("a time in brackets")?;
    let at_ms = time::common(&line[open..close]);
    let at_ms = at_ms.ok_or("a time such as [06/Feb/2025:12:14:14.655]")?;
    let rest = &line[close + 1..];
    let quote = memchr(b'"', rest).ok_or("a request in quotes")?;
    let mut words = words(&rest[..quote]);
    let timers = words.nth(2).unwrap_or_default();
    if timers.iter().filter(|byte| **byte == b'/').count() != 4 {
        return Err("five times after the server, such as 10/0/30/69/109");
    }
    let status = words.next().and_then(number::<u16>);
    let status = status.ok_or("a status after the times")?;
    let response_bytes = words.next().and_then(number::<u64>);
    let request = &rest[quote + 1..];
    let end = request_line::end(request).ok_or("a request in quotes")?;
    let Some((method, target)) = request_line::parts(&request[..end])? else {
        return Ok(None);
    };
    let client = last_word(&line[..open - 2]);
    let port = client.iter().rposition(|byte| *byte == b':');
    Ok(Some(Hit {
        at_ms,
        method,
        target,
        status,
        response_bytes,
        request_bytes: None,
        client: &client[..port.unwrap_or(client.len())],
    }))
}
