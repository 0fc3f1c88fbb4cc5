//! The parts of Redis's serialization protocol (RESP2) that counting needs.

use crate::message::Digits;

/// The maximum size, in bytes, of a line or a string in a reply.
const LINE_BYTES_MAX: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Integer(i64),
    /// A string, such as `OK`, whose content does not matter, or null.
    Fine,
    Error(String),
}

/// The received bytes are not an integer, a string, null or an error in RESP2, or exceed the size
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotResp;

pub(super) fn write_command(out: &mut Vec<u8>, arguments: &[&[u8]]) {
    write_count(out, b'*', arguments.len());
    for argument in arguments {
        write_count(out, b'$', argument.len());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

fn write_count(out: &mut Vec<u8>, kind: u8, count: usize) {
    out.push(kind);
    out.extend_from_slice(Digits::new(count as u64).bytes());
    out.extend_from_slice(b"\r\n");
}

/// Removes the next reply from the front of the received bytes; returns `None` while it is
/// incomplete.
pub(crate) fn next(input: &mut &[u8]) -> Result<Option<Reply>, NotResp> {
    let end = input.iter().position(|&byte| byte == b'\n');
    if end.unwrap_or(input.len()) > LINE_BYTES_MAX {
        return Err(NotResp);
    }
    let Some(end) = end else { return Ok(None) };
    let line = input[..end].strip_suffix(b"\r").ok_or(NotResp)?;
    let (kind, text) = line.split_first().ok_or(NotResp)?;
    let text = std::str::from_utf8(text).map_err(|_| NotResp)?;
    let rest = &input[end + 1..];
    let (reply, rest) = match kind {
        b':' => (Reply::Integer(text.parse().map_err(|_| NotResp)?), rest),
        b'+' => (Reply::Fine, rest),
        b'-' => (Reply::Error(text.to_owned()), rest),
        b'$' if text == "-1" => (Reply::Fine, rest),
        b'$' => {
            let length: usize = text.parse().map_err(|_| NotResp)?;
            if length > LINE_BYTES_MAX {
                return Err(NotResp);
            }
            let Some(after) = rest.get(length + 2..) else {
                return Ok(None);
            };
            (Reply::Fine, after)
        }
        _ => return Err(NotResp),
    };
    *input = rest;
    Ok(Some(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_written_as_redis_reads_them() {
        let mut out = Vec::new();
        write_command(&mut out, &[b"INCRBY", b"a key\r\n", b"1"]);
        let expected = "*3\r\n$6\r\nINCRBY\r\n$7\r\na key\r\n\r\n$1\r\n1\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
