//! Connection identifiers, and a table for the values that a user of the loop stores per
//! connection.

/// Identifies a listener of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub(crate) u32);

/// Identifies a connection of a loop. A slot is reused after a close, each time with the next
/// generation. Generations repeat only after 2^24 connections in the same slot, so a late event is
/// not attributed to the slot's next connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl ConnId {
    /// Creates an identifier from its parts; public for simulated loops.
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }
}

/// A user's data per connection, found by [`ConnId`] in constant time.
#[derive(Debug)]
pub struct ConnMap<T> {
    slots: Vec<Option<(u32, T)>>,
    len: usize,
}

impl<T> Default for ConnMap<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            len: 0,
        }
    }
}

impl<T> ConnMap<T> {
    /// Stores the value of a connection, replacing any value in the connection's slot, even that of
    /// an earlier connection.
    pub fn insert(&mut self, conn: ConnId, value: T) {
        let slot = conn.slot as usize;
        if slot >= self.slots.len() {
            self.slots.resize_with(slot + 1, || None);
        }
        if self.slots[slot].replace((conn.generation, value)).is_none() {
            self.len += 1;
        }
    }

    pub fn get_mut(&mut self, conn: ConnId) -> Option<&mut T> {
        let (generation, value) = self.slots.get_mut(conn.slot as usize)?.as_mut()?;
        (*generation == conn.generation).then_some(value)
    }

    /// Returns the value of a connection, or `None` if it has none, perhaps because a later
    /// connection in the same slot has replaced it.
    pub fn get(&self, conn: ConnId) -> Option<&T> {
        let (generation, value) = self.slots.get(conn.slot as usize)?.as_ref()?;
        (*generation == conn.generation).then_some(value)
    }

    pub fn remove(&mut self, conn: ConnId) -> Option<T> {
        self.get(conn)?;
        self.len -= 1;
        let (_, value) = self.slots[conn.slot as usize].take()?;
        Some(value)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ConnId, &mut T)> {
        (0..).zip(&mut self.slots).filter_map(|(slot, entry)| {
            let (generation, value) = entry.as_mut()?;
            Some((ConnId::new(slot, *generation), value))
        })
    }
}
