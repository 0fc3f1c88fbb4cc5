//! HPACK (RFC 7541): header compression. Decoding keeps the whole dynamic table; encoding
//! ([`super::Block`]) never uses one, so the same bytes are valid on every stream.

mod decode;
mod dynamic;
pub(super) mod huffman;
pub(super) mod integer;
pub(super) mod static_table;

pub(super) use decode::Decoder;
pub(super) use dynamic::ENTRY_OVERHEAD_BYTES;

use thiserror::Error;

/// A header block cannot be decoded. Afterwards, the tables of both ends may differ, so the
/// connection can no longer be used (RFC 9113 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HpackError {
    /// The block ends within a field (RFC 7541 5).
    #[error("a header block ends within a field")]
    Truncated,
    /// An integer needs more than 32 bits, or has more than five bytes after its prefix (RFC 7541
    /// 5.1).
    #[error("an integer in a header block exceeds 32 bits or is encoded in too many bytes")]
    Integer,
    /// Neither table has such an entry (RFC 7541 2.3.3).
    #[error("a header block refers to entry {index}, which is in neither table")]
    Index { index: u32 },
    /// A Huffman-coded string that contains EOS, ends within a code, or has padding other than up
    /// to seven ones (RFC 7541 5.2).
    #[error("a header block contains an invalid Huffman-coded string")]
    Huffman,
    /// The fields exceed even the larger bound for oversized fields, which are decoded only to keep
    /// the table in step (RFC 7541 7.3).
    #[error("the fields of a header block exceed {limit} bytes")]
    ListTooLarge { limit: usize },
    /// A dynamic table larger than our settings allow (RFC 7541 6.3).
    #[error("a header block sets the table size to {bytes} bytes, but at most {limit} are allowed")]
    TableSize { bytes: u32, limit: u32 },
    /// A size update after a field (RFC 7541 4.2).
    #[error("a header block changes the table's size after its first field")]
    TableUpdateLate,
    /// We lowered the table's size, and the next block does not begin with a size update (RFC 7541
    /// 4.2).
    #[error("a header block does not begin with the table size update that our settings require")]
    TableUpdateMissing,
}

#[cfg(test)]
mod tests;
