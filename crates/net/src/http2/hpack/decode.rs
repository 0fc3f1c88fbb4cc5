//! The decoder of header blocks (RFC 7541 3 and 6).

use super::dynamic::DynamicTable;
use super::static_table::ENTRIES;
use super::{HpackError, huffman, integer};
use crate::http2::fields::{FieldKind, Fields};
use crate::http2::settings::TABLE_BYTES_INITIAL;

/// Converts the header blocks of one direction of a connection to fields.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
    /// The maximum table size that the peer may set.
    table_limit: u32,
    /// True if the limit has fallen below the table's maximum size, so that the next block must
    /// begin with a size update.
    update_due: bool,
    /// The last decoded block if it did not change the table, so that decoding it again would give
    /// the same result. Otherwise empty; an empty block is always decoded.
    repeatable: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            table: DynamicTable::new(TABLE_BYTES_INITIAL as usize),
            table_limit: TABLE_BYTES_INITIAL,
            update_due: false,
            repeatable: Vec::new(),
        }
    }

    /// Limits the table to the size in our settings. Called when the peer has acknowledged them.
    pub(crate) fn limit_table(&mut self, bytes: u32) {
        self.table_limit = bytes;
        self.update_due = self.table.size_max > bytes as usize;
        self.repeatable.clear();
    }

    /// Decodes a complete block into `fields`, which must be the same object each time and enforces
    /// its own limits.
    ///
    /// Successive responses often have identical blocks. A block that is identical to the previous
    /// one and does not change the table is not decoded again, because `fields` already contains
    /// its fields.
    pub(crate) fn decode(&mut self, block: &[u8], fields: &mut Fields) -> Result<(), HpackError> {
        if block == self.repeatable && !block.is_empty() {
            return Ok(());
        }
        self.repeatable.clear();
        fields.clear();
        let changes_table = self.decode_fields(block, fields)?;
        if !changes_table {
            self.repeatable.extend_from_slice(block);
        }
        Ok(())
    }

    /// Returns true if the block changed the table.
    fn decode_fields(&mut self, block: &[u8], fields: &mut Fields) -> Result<bool, HpackError> {
        let mut rest = block;
        let mut changes_table = self.update_sizes(&mut rest)?;
        while let Some(&first) = rest.first() {
            if let Some(limit) = fields.endless() {
                return Err(HpackError::ListTooLarge { limit });
            }
            match first {
                0x80.. => self.indexed(&mut rest, fields)?,
                0x40.. => {
                    let (start, name_end, kind) = self.literal(6, &mut rest, fields)?;
                    let bytes = fields.bytes();
                    let (name, value) = bytes[start..].split_at(name_end - start);
                    self.table.insert(name, value, kind);
                    changes_table = true;
                    fields.close(start, name_end, kind);
                }
                0x20.. => return Err(HpackError::TableUpdateLate),
                _ => {
                    let (start, name_end, kind) = self.literal(4, &mut rest, fields)?;
                    fields.close(start, name_end, kind);
                }
            }
        }
        Ok(changes_table)
    }

    /// Reads the updates of the table's size at the beginning of a block (RFC 7541 4.2, 6.3), and
    /// returns true if there were any.
    #[inline]
    fn update_sizes(&mut self, rest: &mut &[u8]) -> Result<bool, HpackError> {
        let mut were_any = false;
        while let Some(0x20..=0x3f) = rest.first() {
            let bytes = integer::read(rest, 5)?;
            if bytes > self.table_limit {
                return Err(HpackError::TableSize {
                    bytes,
                    limit: self.table_limit,
                });
            }
            self.table.set_size_max(bytes as usize);
            self.update_due = false;
            were_any = true;
        }
        if self.update_due {
            return Err(HpackError::TableUpdateMissing);
        }
        Ok(were_any)
    }

    /// Reads a field from a table (RFC 7541 6.1).
    #[inline]
    fn indexed(&self, rest: &mut &[u8], fields: &mut Fields) -> Result<(), HpackError> {
        let index = integer::read(rest, 7)?;
        let (name, value, kind) = self.entry(index)?;
        fields.push(name, value, kind);
        Ok(())
    }

    /// Reads a field whose value is a literal; its name may also be one (RFC 7541 6.2). Returns the
    /// positions in `fields` where the field begins and where its name ends, and the field's kind.
    #[inline]
    fn literal(
        &self,
        prefix_bits: u32,
        rest: &mut &[u8],
        fields: &mut Fields,
    ) -> Result<(usize, usize, FieldKind), HpackError> {
        let index = integer::read(rest, prefix_bits)?;
        let start = fields.bytes().len();
        let name_kind = if index == 0 {
            read_string(rest, fields.open())?;
            FieldKind::of_name(&fields.bytes()[start..])
        } else {
            let (name, _, kind) = self.entry(index)?;
            fields.open().extend_from_slice(name);
            match kind {
                // The entry may be malformed because of its value, not its name.
                FieldKind::Malformed(_) => FieldKind::of_name(name),
                kind => kind,
            }
        };
        let name_end = fields.bytes().len();
        read_string(rest, fields.open())?;
        let kind = name_kind.with_value(&fields.bytes()[name_end..]);
        Ok((start, name_end, kind))
    }

    #[inline]
    fn entry(&self, index: u32) -> Result<(&[u8], &[u8], FieldKind), HpackError> {
        let at = index as usize;
        if at == 0 {
            return Err(HpackError::Index { index });
        }
        if let Some((name, value)) = ENTRIES.get(at) {
            let kind = FieldKind::of_static(at);
            return Ok((name.as_bytes(), value.as_bytes(), kind));
        }
        match self.table.get(at - ENTRIES.len()) {
            Some(entry) => Ok(entry),
            None => Err(HpackError::Index { index }),
        }
    }

    #[cfg(test)]
    pub(crate) fn table(&mut self) -> &mut DynamicTable {
        &mut self.table
    }
}

/// Reads a string (RFC 7541 5.2) and appends it to `out`.
#[inline]
fn read_string(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_huffman = rest.first().is_some_and(|byte| byte & 0x80 != 0);
    let length = integer::read(rest, 7)? as usize;
    let Some((string, after)) = rest.split_at_checked(length) else {
        return Err(HpackError::Truncated);
    };
    *rest = after;
    if is_huffman {
        huffman::decode(string, out)
    } else {
        out.extend_from_slice(string);
        Ok(())
    }
}
