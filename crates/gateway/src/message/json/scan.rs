//! A strict reader of JSON (RFC 8259) that stores nothing: it returns where a value ends.

/// The maximum nesting depth of arrays and objects.
pub(super) const DEPTH_MAX: usize = 128;

/// The text is not JSON, is nested more than 128 levels deep, or contains an edited member twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson;

pub(super) fn space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Returns the end of the value that begins at `at`. `depth` is the number of arrays and objects
/// around it.
pub(super) fn value(text: &[u8], at: usize, depth: usize) -> Result<usize, NotJson> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        Some(b'{') => {
            let mut members = Parts::open(text, at, depth)?;
            while members.next_member()?.is_some() {}
            Ok(members.at)
        }
        Some(b'[') => {
            let mut items = Parts::open(text, at, depth)?;
            while items.next_item()?.is_some() {}
            Ok(items.at)
        }
        Some(b'-' | b'0'..=b'9') => number(text, at),
        Some(b't') => word(text, at, b"true"),
        Some(b'f') => word(text, at, b"false"),
        Some(b'n') => word(text, at, b"null"),
        _ => Err(NotJson),
    }
}

/// Returns the end of a string whose opening quote is at `at`.
fn string(text: &[u8], at: usize) -> Result<usize, NotJson> {
    let mut at = word(text, at, b"\"")?;
    loop {
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(text, at)?,
            Some(0x20..) => at += 1,
            _ => return Err(NotJson),
        }
    }
}

fn escape(text: &[u8], at: usize) -> Result<usize, NotJson> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let digits = text.get(at + 2..at + 6).ok_or(NotJson)?;
            let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
            is_hexadecimal.then_some(at + 6).ok_or(NotJson)
        }
        _ => Err(NotJson),
    }
}

fn number(text: &[u8], at: usize) -> Result<usize, NotJson> {
    let mut at = at + usize::from(text[at] == b'-');
    at = match text.get(at) {
        Some(b'0') => at + 1,
        _ => digits(text, at)?,
    };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = digits(text, at + 1 + usize::from(sign))?;
    }
    Ok(at)
}

fn digits(text: &[u8], from: usize) -> Result<usize, NotJson> {
    let mut at = from;
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    (at > from).then_some(at).ok_or(NotJson)
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, NotJson> {
    let is_there = text[at..].starts_with(word);
    is_there.then_some(at + word.len()).ok_or(NotJson)
}

/// The positions of the parts of an object's member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// The name, with its quotes.
    pub(super) name: (usize, usize),
    /// The value, without white space around it.
    pub(super) value: (usize, usize),
}

/// The members of an object or the items of an array, one at a time.
pub(super) struct Parts<'t> {
    text: &'t [u8],
    /// The position after the bytes read so far.
    pub(super) at: usize,
    depth: usize,
    is_first: bool,
}

impl<'t> Parts<'t> {
    /// Enters the object or array whose opening bracket is at `at`.
    pub(super) fn open(text: &'t [u8], at: usize, depth: usize) -> Result<Self, NotJson> {
        if depth >= DEPTH_MAX {
            return Err(NotJson);
        }
        Ok(Self {
            text,
            at: at + 1,
            depth,
            is_first: true,
        })
    }

    pub(super) fn next_member(&mut self) -> Result<Option<Member>, NotJson> {
        let Some(start) = self.next_start(b'}')? else {
            return Ok(None);
        };
        let end = string(self.text, start)?;
        let colon = word(self.text, space(self.text, end), b":")?;
        let from = space(self.text, colon);
        self.at = value(self.text, from, self.depth + 1)?;
        Ok(Some(Member {
            name: (start, end),
            value: (from, self.at),
        }))
    }

    pub(super) fn next_item(&mut self) -> Result<Option<(usize, usize)>, NotJson> {
        let Some(start) = self.next_start(b']')? else {
            return Ok(None);
        };
        self.at = value(self.text, start, self.depth + 1)?;
        Ok(Some((start, self.at)))
    }

    /// Returns the start of the next member or item, after its comma; `None` at the closing
    /// bracket, which is consumed.
    fn next_start(&mut self, closing: u8) -> Result<Option<usize>, NotJson> {
        let next = space(self.text, self.at);
        match self.text.get(next) {
            Some(byte) if *byte == closing => {
                self.at = next + 1;
                Ok(None)
            }
            Some(b',') if !self.is_first => Ok(Some(space(self.text, next + 1))),
            Some(_) if std::mem::take(&mut self.is_first) => Ok(Some(next)),
            _ => Err(NotJson),
        }
    }
}
