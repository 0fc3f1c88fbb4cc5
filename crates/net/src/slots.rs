//! The connections of one loop, in reusable slots.

use crate::ConnId;

/// Generations are limited to 24 bits so that a slot, its generation and the kind of an operation
/// fit into the 64 bits of user data in io_uring and epoll.
pub(crate) const GENERATION_MASK: u32 = (1 << 24) - 1;

/// A table whose entries are identified by slot and generation.
pub(crate) struct Slots<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, value: T) -> ConnId {
        if let Some(slot) = self.free.pop() {
            let (generation, entry) = &mut self.entries[slot as usize];
            *entry = Some(value);
            return ConnId::new(slot, *generation);
        }
        let slot = u32::try_from(self.entries.len()).expect("fewer than 2^32 descriptors exist");
        self.entries.push((0, Some(value)));
        ConnId::new(slot, 0)
    }

    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut T> {
        self.entry_mut(conn)?.1.as_mut()
    }

    /// Removes an entry, and frees its slot for the next generation.
    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<T> {
        let (generation, value) = self.entry_mut(conn)?;
        let value = value.take()?;
        *generation = (*generation + 1) & GENERATION_MASK;
        self.free.push(conn.slot);
        Some(value)
    }

    fn entry_mut(&mut self, conn: ConnId) -> Option<&mut (u32, Option<T>)> {
        let entry = self.entries.get_mut(conn.slot as usize);
        entry.filter(|(generation, _)| *generation == conn.generation)
    }

    pub(crate) fn names(&self) -> Vec<ConnId> {
        let entries = (0..).zip(&self.entries);
        let taken = entries.filter(|(_, (_, value))| value.is_some());
        taken
            .map(|(slot, (generation, _))| ConnId::new(slot, *generation))
            .collect()
    }
}
