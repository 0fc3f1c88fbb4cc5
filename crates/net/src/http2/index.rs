//! Maps a stream's number to its slot.

/// An open-addressing table whose hash is the number itself, without its lowest bit: streams opened
/// in order are adjacent, as in a ring, and a stream that outlives its neighbors costs additional
/// probes instead of blocking the ring.
#[derive(Debug)]
pub(super) struct Index {
    /// The length is a power of two, at least twice the number of entries. Number 0 marks a free
    /// place.
    places: Vec<Entry>,
    entries: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    number: u32,
    slot: u32,
}

const PLACES_MIN: usize = 16;

impl Default for Index {
    fn default() -> Self {
        Self {
            places: vec![Entry::default(); PLACES_MIN],
            entries: 0,
        }
    }
}

impl Index {
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        let entry = self.places[self.place_of(number)];
        (entry.number != 0).then_some(entry.slot)
    }

    /// Adds a number that is not 0 and not in the table.
    pub(super) fn insert(&mut self, number: u32, slot: u32) {
        if 2 * (self.entries + 1) > self.places.len() {
            self.grow();
        }
        let place = self.place_of(number);
        self.places[place] = Entry { number, slot };
        self.entries += 1;
    }

    /// Removes a number and closes the gap: a later entry moves into the gap unless its preferred
    /// place comes after the gap.
    pub(super) fn remove(&mut self, number: u32) {
        let mask = self.mask();
        let mut gap = self.place_of(number);
        if self.places[gap].number == 0 {
            return;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let entry = self.places[at];
            if entry.number == 0 {
                break;
            }
            let from_home = at.wrapping_sub(self.home(entry.number)) & mask;
            if from_home >= at.wrapping_sub(gap) & mask {
                self.places[gap] = entry;
                gap = at;
            }
        }
        self.places[gap] = Entry::default();
        self.entries -= 1;
    }

    fn mask(&self) -> usize {
        self.places.len() - 1
    }

    /// Returns the preferred place of a number. The lowest bit is dropped, because the stream
    /// numbers of clients are all odd.
    fn home(&self, number: u32) -> usize {
        (number >> 1) as usize & self.mask()
    }

    /// The place of the number, or the free place where it belongs.
    #[inline]
    fn place_of(&self, number: u32) -> usize {
        let mut at = self.home(number);
        while self.places[at].number != number && self.places[at].number != 0 {
            at = (at + 1) & self.mask();
        }
        at
    }

    fn grow(&mut self) {
        let larger = vec![Entry::default(); 2 * self.places.len()];
        for entry in std::mem::replace(&mut self.places, larger) {
            if entry.number != 0 {
                let place = self.place_of(entry.number);
                self.places[place] = entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn works_like_a_map(steps in proptest::collection::vec((any::<bool>(), 0_u32..200), 0..400)) {
            let mut index = Index::default();
            let mut model = BTreeMap::new();
            for (slot, (inserts, at)) in (0..).zip(steps) {
                // Some numbers are adjacent and others are far apart, so that their preferred
                // places collide.
                let number = 1 + 2 * (at % 20) + 4096 * (at / 20);
                if inserts && !model.contains_key(&number) {
                    index.insert(number, slot);
                    model.insert(number, slot);
                } else {
                    index.remove(number);
                    model.remove(&number);
                }
                for at in 0..200 {
                    let number = 1 + 2 * (at % 20) + 4096 * (at / 20);
                    prop_assert_eq!(index.get(number), model.get(&number).copied());
                }
            }
        }
    }
}
