//! A strict reader of JSON (RFC 8259) that keeps nothing: it returns where a value ends.

/// The largest nesting depth of arrays and objects.
pub(super) const DEPTH_MAX: usize = 128;

/// The text is not JSON, is nested deeper than 128, or contains an edited member twice. The place
/// is an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotJson {
    /// The position of the mistake, in bytes from the start.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests state the place"))]
    pub(crate) at: usize,
}

/// Skips white space.
pub(super) fn space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `at`; `depth` is its depth of nesting.
pub(super) fn value(text: &[u8], at: usize, depth: usize) -> Result<usize, NotJson> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        Some(b'{') => object(text, at, depth),
        Some(b'[') => array(text, at, depth),
        Some(b'-' | b'0'..=b'9') => number(text, at),
        Some(b't') => word(text, at, b"true"),
        Some(b'f') => word(text, at, b"false"),
        Some(b'n') => word(text, at, b"null"),
        _ => Err(NotJson { at }),
    }
}

/// Returns the end of a string whose opening quote is at `at`.
pub(super) fn string(text: &[u8], at: usize) -> Result<usize, NotJson> {
    if text.get(at) != Some(&b'"') {
        return Err(NotJson { at });
    }
    let mut at = at + 1;
    loop {
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(text, at)?,
            Some(0x20..) => at += 1,
            _ => return Err(NotJson { at }),
        }
    }
}

fn escape(text: &[u8], at: usize) -> Result<usize, NotJson> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let digits = text.get(at + 2..at + 6);
            let is_hexadecimal = digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit));
            if is_hexadecimal {
                Ok(at + 6)
            } else {
                Err(NotJson { at })
            }
        }
        _ => Err(NotJson { at }),
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
    if at > from {
        Ok(at)
    } else {
        Err(NotJson { at })
    }
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, NotJson> {
    if text[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        Err(NotJson { at })
    }
}

fn object(text: &[u8], at: usize, depth: usize) -> Result<usize, NotJson> {
    let mut members = Parts::open(text, at, depth)?;
    while members.next_member()?.is_some() {}
    Ok(members.at)
}

fn array(text: &[u8], at: usize, depth: usize) -> Result<usize, NotJson> {
    let mut items = Parts::open(text, at, depth)?;
    while items.next_item()?.is_some() {}
    Ok(items.at)
}

/// The positions of a member of an object and of its parts.
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
    /// Begins with the object or array whose opening bracket is at `at`.
    pub(super) fn open(text: &'t [u8], at: usize, depth: usize) -> Result<Self, NotJson> {
        if depth >= DEPTH_MAX {
            return Err(NotJson { at });
        }
        Ok(Self {
            text,
            at: at + 1,
            depth,
            is_first: true,
        })
    }

    /// The next member of an object.
    pub(super) fn next_member(&mut self) -> Result<Option<Member>, NotJson> {
        let text = self.text;
        let Some(start) = next_start(text, &mut self.at, &mut self.is_first, b'}')? else {
            return Ok(None);
        };
        let end = string(text, start)?;
        let colon = space(text, end);
        if text.get(colon) != Some(&b':') {
            return Err(NotJson { at: colon });
        }
        let from = space(text, colon + 1);
        let to = value(text, from, self.depth + 1)?;
        self.at = to;
        Ok(Some(Member {
            name: (start, end),
            value: (from, to),
        }))
    }

    /// Returns the range of the next item of an array.
    pub(super) fn next_item(&mut self) -> Result<Option<(usize, usize)>, NotJson> {
        let text = self.text;
        let Some(start) = next_start(text, &mut self.at, &mut self.is_first, b']')? else {
            return Ok(None);
        };
        let end = value(text, start, self.depth + 1)?;
        self.at = end;
        Ok(Some((start, end)))
    }
}

/// Returns the start of the next member or item, after its comma; none at the closing bracket,
/// which is consumed.
fn next_start(
    text: &[u8],
    at: &mut usize,
    is_first: &mut bool,
    closing: u8,
) -> Result<Option<usize>, NotJson> {
    let next = space(text, *at);
    match text.get(next) {
        Some(byte) if *byte == closing => {
            *at = next + 1;
            Ok(None)
        }
        Some(b',') if !*is_first => Ok(Some(space(text, next + 1))),
        Some(_) if std::mem::take(is_first) => Ok(Some(next)),
        _ => Err(NotJson { at: next }),
    }
}
