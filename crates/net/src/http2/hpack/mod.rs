//! HPACK (RFC 7541): header compression. Decoding keeps the whole dynamic table; encoding
//! ([`super::Block`]) never uses one, so that the same bytes serve every stream.

mod decode;
mod dynamic;
mod error;
pub(super) mod huffman;
pub(super) mod integer;
pub(super) mod static_table;

#[cfg(test)]
mod tests;

pub(super) use decode::Decoder;
pub(super) use dynamic::ENTRY_OVERHEAD_BYTES;
pub use error::HpackError;
