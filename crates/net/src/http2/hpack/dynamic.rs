//! The dynamic table (RFC 7541 2.3.2 and 4).

use std::collections::VecDeque;

use crate::http2::fields::FieldKind;

/// The size that is added to the bytes of each entry (RFC 7541 4.1).
pub(crate) const ENTRY_OVERHEAD_BYTES: usize = 32;

/// Fields that the peer added to the table, the newest first.
#[derive(Debug)]
pub(crate) struct DynamicTable {
    /// The bytes of the entries, oldest first, after those of evicted entries.
    bytes: Vec<u8>,
    entries: VecDeque<Entry>,
    /// The size of the entries, computed as in RFC 7541 4.1.
    pub(crate) size: usize,
    pub(crate) size_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    name_len: usize,
    value_len: usize,
    kind: FieldKind,
}

impl Entry {
    fn size(&self) -> usize {
        self.name_len + self.value_len + ENTRY_OVERHEAD_BYTES
    }
}

impl DynamicTable {
    pub(crate) fn new(size_max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            entries: VecDeque::new(),
            size: 0,
            size_max,
        }
    }

    pub(crate) fn set_size_max(&mut self, size_max: usize) {
        self.size_max = size_max;
        self.evict_to(size_max);
    }

    /// Returns the name, value and kind of an entry; entry 0 is the newest.
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8], FieldKind)> {
        let entry = self.entries.get(index)?;
        let bytes = &self.bytes[entry.start..entry.start + entry.name_len + entry.value_len];
        let (name, value) = bytes.split_at(entry.name_len);
        Some((name, value, entry.kind))
    }

    /// Inserts a field. A field larger than the maximum size empties the table (RFC 7541 4.4).
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8], kind: FieldKind) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD_BYTES;
        if size > self.size_max {
            self.evict_to(0);
            return;
        }
        self.evict_to(self.size_max - size);
        if self.bytes.len() + name.len() + value.len() > 2 * self.size_max {
            self.compact();
        }
        let entry = Entry {
            start: self.bytes.len(),
            name_len: name.len(),
            value_len: value.len(),
            kind,
        };
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_front(entry);
        self.size += size;
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size();
        }
        if self.entries.is_empty() {
            self.bytes.clear();
        }
    }

    /// Moves the entries to the front, over the bytes of evicted ones. This happens at most once
    /// per `size_max` inserted bytes, so it costs less than one more copy of each byte.
    fn compact(&mut self) {
        let evicted = self
            .entries
            .back()
            .map_or(self.bytes.len(), |oldest| oldest.start);
        self.bytes.drain(..evicted);
        for entry in &mut self.entries {
            entry.start -= evicted;
        }
    }
}
