//! Finds the end of a head that is split across inputs or invalid, in one pass.

use super::{ProtocolError, Role};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadScan {
    bytes: usize,
    lines: usize,
    line_has_bytes: bool,
    after_cr: bool,
}

/// The beginning of every response; the minor version follows.
const STATUS_LINE_START: &[u8] = b"HTTP/1.";

impl HeadScan {
    /// Searches the next bytes for the empty line; if it is found, returns the number of these
    /// bytes that belong to the head.
    ///
    /// # Errors
    /// A line ends with LF alone, or the beginning cannot become a start line. A peer that speaks
    /// another protocol is therefore usually detected at once, not only when the head exceeds its
    /// limit.
    pub(super) fn find_end(
        &mut self,
        bytes: &[u8],
        role: Role,
    ) -> Result<Option<usize>, ProtocolError> {
        self.check_beginning(bytes, role)?;
        self.bytes += bytes.len();
        for (index, &byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if !self.after_cr => return Err(ProtocolError::BareLineFeed),
                b'\n' if !self.line_has_bytes => return Ok(Some(index + 1)),
                b'\n' => {
                    self.lines += 1;
                    self.line_has_bytes = false;
                }
                b'\r' => {}
                _ => self.line_has_bytes = true,
            }
            self.after_cr = byte == b'\r';
        }
        Ok(None)
    }

    pub(super) fn in_first_line(&self) -> bool {
        self.lines == 0
    }

    fn check_beginning(&self, bytes: &[u8], role: Role) -> Result<(), ProtocolError> {
        match role {
            Role::Request if self.bytes == 0 => match bytes.first() {
                Some(&byte) if !is_token(byte) => Err(ProtocolError::StartLine),
                _ => Ok(()),
            },
            Role::Request => Ok(()),
            Role::Response => {
                let expected = STATUS_LINE_START.get(self.bytes..).unwrap_or_default();
                let mut pairs = expected.iter().zip(bytes);
                match pairs.position(|(expected, byte)| expected != byte) {
                    Some(index) if self.bytes + index >= b"HTTP/".len() => {
                        Err(ProtocolError::Version)
                    }
                    Some(_) => Err(ProtocolError::StartLine),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Reports whether a byte may occur in a token (RFC 9110 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
