//! The serialization protocol of Redis (RESP2), as far as counting needs it.

/// Bytes of a line or a text that a reply may have.
const LINE_BYTES_MAX: usize = 4096;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Integer(i64),
    /// A text, which says nothing to us.
    Fine,
    Error(String),
}

/// What was received is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotResp;

/// Writes a command.
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
    write_number(out, count as u64);
    out.extend_from_slice(b"\r\n");
}

/// Writes a number in digits.
pub(super) fn write_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// The next reply, taken off the front of what was received; nothing while it is not whole.
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn commands_are_written_as_redis_reads_them() {
        let mut out = Vec::new();
        write_command(&mut out, &[b"INCRBY", b"a key\r\n", b"1"]);
        let expected = "*3\r\n$6\r\nINCRBY\r\n$7\r\na key\r\n\r\n$1\r\n1\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn replies_are_read_however_they_are_cut() {
        let all = b":42\r\n+OK\r\n-ERR no\r\n$5\r\na\r\nbc\r\n$-1\r\n:-2\r\n";
        let expected = [
            Reply::Integer(42),
            Reply::Fine,
            Reply::Error("ERR no".into()),
            Reply::Fine,
            Reply::Fine,
            Reply::Integer(-2),
        ];
        for cut in 0..=all.len() {
            let mut held = Vec::new();
            let mut found = Vec::new();
            for piece in [&all[..cut], &all[cut..]] {
                held.extend_from_slice(piece);
                let mut input = held.as_slice();
                while let Some(reply) = next(&mut input).unwrap() {
                    found.push(reply);
                }
                held = input.to_vec();
            }
            assert_eq!(found, expected, "{cut}");
            assert!(held.is_empty());
        }
    }

    #[test]
    fn everything_else_is_none() {
        for wrong in [
            &b":x\r\n"[..],
            b"\r\n",
            b"!\r\n",
            b":1\n",
            b"$99999\r\n",
            b"*1\r\n",
            b":\xff\r\n",
        ] {
            assert_eq!(next(&mut &wrong[..]), Err(NotResp), "{wrong:?}");
        }
        assert_eq!(next(&mut &[b'+'; 5000][..]), Err(NotResp));
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let mut input = bytes.as_slice();
            while let Ok(Some(_)) = next(&mut input) {}
        }
    }
}
