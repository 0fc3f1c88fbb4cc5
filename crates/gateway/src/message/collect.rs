//! A message that a policy needs in full before it is passed on.

use std::io::Write;
use std::ops::Range;

use super::json::{NotJson, Plan, edit};

/// The maximum capacity, in bytes, with which `body` and `edited` are kept for the next message.
const KEEP_BYTES: usize = 64 * 1024;

/// A message being collected. Its vectors are reused for the next message, so small bodies need no
/// allocation in the steady state.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The head without the empty line and without a field that states the length; empty while no
    /// message is collected.
    head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    edited: Vec<u8>,
}

impl Collected {
    /// Begins a message. `write` appends its head, including the empty line but no length.
    pub(crate) fn begin(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.clear();
        write(&mut self.head);
        debug_assert!(self.head.ends_with(b"\r\n\r\n"));
        self.head.truncate(self.head.len() - 2);
    }

    pub(crate) fn is_begun(&self) -> bool {
        !self.head.is_empty()
    }

    /// Adds a piece of the body, or returns false if the body would become larger than `max_bytes`.
    pub(crate) fn add(&mut self, piece: &[u8], max_bytes: usize) -> bool {
        let has_room = self.body.len() + piece.len() <= max_bytes;
        if has_room {
            self.body.extend_from_slice(piece);
        }
        has_room
    }

    /// Edits the body as JSON. An empty body stays empty, whatever its framing.
    pub(crate) fn edit(&mut self, plans: &[Plan]) -> Result<(), NotJson> {
        if self.body.is_empty() {
            return Ok(());
        }
        for plan in plans {
            self.edited.clear();
            edit(plan, &self.body, &mut self.edited)?;
            std::mem::swap(&mut self.body, &mut self.edited);
        }
        Ok(())
    }

    /// Returns the value of the first field of this name in the head.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let line = &self.head[field_line(&self.head, name)?];
        str::from_utf8(line.get(name.len() + 1..)?)
            .ok()
            .map(str::trim)
    }

    /// Sets a field in the head to this value; adds the field if it is missing.
    pub(crate) fn set_field(&mut self, name: &str, value: &str) {
        let line = format!("{name}: {value}\r\n");
        let end = self.head.len();
        let place = field_line(&self.head, name).unwrap_or(end..end);
        self.head.splice(place, line.into_bytes());
    }

    /// Replaces the path and query of a request.
    pub(crate) fn redirect(&mut self, target: &str) {
        let blank = |from: usize| {
            let found = self.head[from..].iter().position(|&byte| byte == b' ');
            found.map(|at| from + at)
        };
        if let Some(start) = blank(0)
            && let Some(end) = blank(start + 1)
        {
            self.head.splice(start + 1..end, target.bytes());
        }
    }

    /// Writes the message, with its length, and clears it.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        let _ = write!(out, "Content-Length: {}\r\n\r\n", self.body.len());
        out.extend_from_slice(&self.body);
        self.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.head.clear();
        for vector in [&mut self.body, &mut self.edited] {
            vector.clear();
            if vector.capacity() > KEEP_BYTES {
                *vector = Vec::new();
            }
        }
    }
}

/// Returns the range of the line that contains a field, including the end of the line.
fn field_line(head: &[u8], name: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let end = start + line.len();
        let is_it = line.get(name.len()) == Some(&b':')
            && line[..name.len()].eq_ignore_ascii_case(name.as_bytes());
        if is_it {
            return Some(start..end);
        }
        start = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(head: &str, change: impl FnOnce(&mut Collected)) -> String {
        let mut collected = Collected::default();
        collected.begin(|out| out.extend_from_slice(head.as_bytes()));
        change(&mut collected);
        let mut out = Vec::new();
        collected.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_are_replaced_where_they_are_and_added_where_they_are_not() {
        let head = "HTTP/1.1 200 OK\r\ncontent-TYPE: a\r\nX: y\r\n\r\n";
        assert_eq!(
            written(head, |it| {
                assert_eq!((it.field("Content-Type"), it.field("Y")), (Some("a"), None));
                it.set_field("Content-Type", "b");
            }),
            "HTTP/1.1 200 OK\r\nContent-Type: b\r\nX: y\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(
            written(head, |it| {
                it.set_field("Content", "b");
                it.body = b"body".to_vec();
            }),
            "HTTP/1.1 200 OK\r\ncontent-TYPE: a\r\nX: y\r\nContent: b\r\nContent-Length: 4\r\n\r\nbody"
        );
    }

    #[test]
    fn a_request_is_redirected() {
        let head = "POST /a?b HTTP/1.1\r\nHost: h i\r\n\r\n";
        assert_eq!(
            written(head, |it| it.redirect("/c")),
            "POST /c HTTP/1.1\r\nHost: h i\r\nContent-Length: 0\r\n\r\n"
        );
    }
}
