//! Bounds on the bytes that a peer can make a decoder hold or read.

/// Limits of one decoder. It holds at most `head_bytes` of any input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, from the start line to the empty line, both included. 64 KiB; at most 4
    /// GiB.
    pub head_bytes: usize,
    /// Field lines of a head. 128; at most [`Limits::FIELDS_MAX`].
    pub fields: usize,
    /// Bytes of a body after decoding. No bound.
    pub body_bytes: u64,
    /// Bytes of the line before a chunk, extensions included, line end excluded. 256.
    pub chunk_line_bytes: usize,
    /// Bytes of all trailer fields, line ends included. 8 KiB.
    pub trailer_bytes: usize,
    /// Informational (1xx) responses before a final one. 16.
    pub informational: u32,
}

impl Limits {
    /// The largest number of field lines, regardless of [`Limits::fields`]: they are kept on the
    /// stack.
    pub const FIELDS_MAX: usize = 256;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 * 1024,
            fields: 128,
            body_bytes: u64::MAX,
            chunk_line_bytes: 256,
            trailer_bytes: 8 * 1024,
            informational: 16,
        }
    }
}
