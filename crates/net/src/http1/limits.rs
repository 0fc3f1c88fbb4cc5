//! Bounds on the bytes that a peer can cause a decoder to hold or read.

/// Limits of one decoder, which buffers at most `head_bytes` of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of a head in bytes, from the start line through the empty line. Default 64 KiB; values
    /// of 4 GiB or more are lowered to 4 GiB − 1.
    pub head_bytes: usize,
    /// Number of field lines in a head. Default 128; values above [`Limits::FIELDS_MAX`] are
    /// lowered to it.
    pub fields: usize,
    /// Size of a body in bytes after decoding. Unlimited by default.
    pub body_bytes: u64,
    /// Size of the line before a chunk in bytes, including extensions but not the line ending.
    /// Default 256.
    pub chunk_line_bytes: usize,
    /// Size of all trailer fields in bytes, including line endings. Default 8 KiB.
    pub trailer_bytes: usize,
    /// Number of informational (1xx) responses before a final one. Default 16.
    pub informational: u32,
}

impl Limits {
    /// The maximum number of field lines, regardless of [`Limits::fields`], because the parser
    /// keeps them on the stack.
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
