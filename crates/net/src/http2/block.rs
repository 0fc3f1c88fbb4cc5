//! Header blocks that are encoded once and sent many times.

use std::borrow::Cow;

use super::hpack::static_table::{Found, find};
use super::hpack::{huffman, integer};

/// An encoded header block. It uses the static table and literals, never the dynamic table, so the
/// same bytes are valid on every stream of every connection.
///
/// ```
/// use gatebench_net::http2::Block;
///
/// let mut block = Block::request("GET", "http", "localhost", "/items?page=1");
/// block.field("accept", b"application/json");
/// let number = block.variable("number", b"0000");
/// // Later, for each request:
/// block.set(&number, b"0017");
/// ```
#[derive(Clone, Debug)]
pub struct Block {
    bytes: Vec<u8>,
    is_head: bool,
    huffman: bool,
}

/// The position of a value that changes from one use of its block to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    start: usize,
    length: usize,
}

impl Block {
    /// The block of a request, with its pseudo-header fields.
    pub fn request(method: &str, scheme: &str, authority: &str, path: &str) -> Self {
        let mut block = Self::empty();
        block.restart(method, scheme, authority, path.as_bytes());
        block
    }

    /// Begins the block of another request, reusing the memory.
    pub fn restart(&mut self, method: &str, scheme: &str, authority: &str, path: &[u8]) {
        self.bytes.clear();
        self.is_head = method == "HEAD";
        self.field(":method", method.as_bytes());
        self.field(":scheme", scheme.as_bytes());
        self.field(":authority", authority.as_bytes());
        self.field(":path", path);
    }

    /// The block of a response with that status, 100 to 999.
    pub fn response(status: u16) -> Self {
        let mut block = Self::empty();
        block.field(":status", status.to_string().as_bytes());
        block
    }

    /// Begins the block of another response, reusing the memory.
    pub fn restart_response(&mut self, status: u16) {
        self.bytes.clear();
        self.is_head = false;
        let digits = [status / 100, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8);
        self.field(":status", &digits);
    }

    fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            is_head: false,
            huffman: true,
        }
    }

    /// Sets whether strings appended from now on, except the values of variables, are Huffman-coded
    /// where that is shorter. By default they are; a block that is encoded once and sent many times
    /// pays for this only once.
    pub fn huffman(&mut self, on: bool) -> &mut Self {
        self.huffman = on;
        self
    }

    /// Appends a field. The name is converted to lower case (RFC 9113 8.2.1). The caller must omit
    /// the fields of HTTP/1.1 connections (`Connection`, `Transfer-Encoding`, ...).
    pub fn field(&mut self, name: &str, value: &[u8]) -> &mut Self {
        let name = lower(name);
        if let Found::Field(index) = find(&name, value) {
            integer::write(&mut self.bytes, 0x80, 7, index);
            return self;
        }
        self.write_name(&name);
        self.write_string(value, self.huffman);
        self
    }

    /// Appends a field whose value [`Block::set`] can replace with another value of the same
    /// length.
    pub fn variable(&mut self, name: &str, value: &[u8]) -> Variable {
        self.write_name(&lower(name));
        self.write_string(value, false);
        Variable {
            start: self.bytes.len() - value.len(),
            length: value.len(),
        }
    }

    /// Replaces the value of one of this block's variables.
    ///
    /// # Panics
    /// `value` does not have the length of the variable.
    #[inline]
    pub fn set(&mut self, variable: &Variable, value: &[u8]) {
        let end = variable.start + variable.length;
        self.bytes[variable.start..end].copy_from_slice(value);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reports whether the method is HEAD, in which case the response has no body.
    pub(super) fn is_head(&self) -> bool {
        self.is_head
    }

    /// Writes the name of a literal without indexing (RFC 7541 6.2.2).
    fn write_name(&mut self, name: &str) {
        match find(name, b"") {
            Found::Field(index) | Found::Name(index) => {
                integer::write(&mut self.bytes, 0, 4, index);
            }
            Found::Nothing => {
                self.bytes.push(0);
                self.write_string(name.as_bytes(), self.huffman);
            }
        }
    }

    fn write_string(&mut self, string: &[u8], huffman: bool) {
        let encoded_len = huffman::encoded_len(string);
        if huffman && encoded_len < string.len() {
            integer::write(&mut self.bytes, 0x80, 7, encoded_len);
            huffman::encode(string, &mut self.bytes);
        } else {
            integer::write(&mut self.bytes, 0, 7, string.len());
            self.bytes.extend_from_slice(string);
        }
    }
}

/// Converts a name to lower case. Most names already are in lower case, and are not copied.
fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
