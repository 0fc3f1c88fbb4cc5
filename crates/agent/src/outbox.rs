//! The records of a load generator that the coordinator has not acknowledged.

use std::collections::VecDeque;

use sha2::{Digest as _, Sha256};

/// The number of records that are kept: those of ten minutes.
const RECORDS_MAX: usize = 600;

/// Numbers records, and keeps each until it is acknowledged.
#[derive(Default)]
pub(crate) struct Outbox {
    records: VecDeque<String>,
    /// The number of the first record that is kept.
    first: u64,
    digest: Lines,
    /// True if a record was lost because nobody acknowledged the earlier ones.
    overflowed: bool,
}

impl Outbox {
    /// Adds a record. Returns false if too many records are kept.
    pub(crate) fn push(&mut self, record: String) -> bool {
        self.overflowed |= self.records.len() >= RECORDS_MAX;
        if !self.overflowed {
            self.digest.add(&record);
            self.records.push_back(record);
        }
        !self.overflowed
    }

    /// Forgets the records before a number, and returns the others with the number of the first.
    pub(crate) fn after(&mut self, number: u64) -> (u64, Vec<String>) {
        while self.first < number && self.records.pop_front().is_some() {
            self.first += 1;
        }
        (self.first, self.records.iter().cloned().collect())
    }

    /// The total number of records, and their digest.
    pub(crate) fn end(&self) -> (u64, String) {
        (self.first + self.records.len() as u64, self.digest.hex())
    }
}

/// The SHA-256 of lines.
#[derive(Clone, Default)]
pub(crate) struct Lines(Sha256);

impl Lines {
    /// Adds a line and its line feed.
    pub(crate) fn add(&mut self, line: &str) {
        self.0.update(line);
        self.0.update("\n");
    }

    /// The digest so far, in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        let digest = self.0.clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_until_they_are_acknowledged() {
        let mut outbox = Outbox::default();
        for record in ["a", "b", "c"] {
            assert!(outbox.push(record.into()));
        }
        let all = (0, vec!["a".into(), "b".into(), "c".into()]);
        assert_eq!(outbox.after(0), all);
        assert_eq!(outbox.after(0), all, "asked again after a lost response");
        assert_eq!(outbox.after(2), (2, vec!["c".into()]));
        assert_eq!(outbox.after(1), (2, vec!["c".into()]));
        let mut lines = Lines::default();
        ["a", "b", "c"].iter().for_each(|line| lines.add(line));
        assert_eq!(outbox.end(), (3, lines.hex()));
        assert_eq!(outbox.after(3), (3, Vec::new()));
    }

    #[test]
    fn records_of_ten_minutes_are_kept() {
        let mut outbox = Outbox::default();
        assert!((0..RECORDS_MAX).all(|_| outbox.push(String::new())));
        assert!(!outbox.push(String::new()));
        outbox.after(100);
        assert!(!outbox.push(String::new()), "a record is missing");
    }
}
