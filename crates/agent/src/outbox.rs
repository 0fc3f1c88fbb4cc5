//! Keeps the records of a load generator until the coordinator acknowledges them.

use std::collections::VecDeque;

use sha2::{Digest as _, Sha256};

/// The maximum number of records that are kept, enough for ten minutes.
const RECORDS_MAX: usize = 600;

#[derive(Default)]
pub(crate) struct Outbox {
    records: VecDeque<String>,
    /// The number of the first record that is kept.
    first: u64,
    digest: Lines,
    overflowed: bool,
}

impl Outbox {
    /// Adds a record. Returns false once a record has been lost because the outbox was full.
    pub(crate) fn push(&mut self, record: String) -> bool {
        self.overflowed |= self.records.len() >= RECORDS_MAX;
        if !self.overflowed {
            self.digest.add(&record);
            self.records.push_back(record);
        }
        !self.overflowed
    }

    /// Forgets the records before `number`. Returns the number of the first remaining record, and
    /// the remaining records.
    pub(crate) fn after(&mut self, number: u64) -> (u64, Vec<String>) {
        while self.first < number && self.records.pop_front().is_some() {
            self.first += 1;
        }
        (self.first, self.records.iter().cloned().collect())
    }

    pub(crate) fn end(&self) -> (u64, String) {
        (self.first + self.records.len() as u64, self.digest.hex())
    }
}

#[derive(Clone, Default)]
pub(crate) struct Lines(Sha256);

impl Lines {
    /// Adds a line and its line feed.
    pub(crate) fn add(&mut self, line: &str) {
        self.0.update(line);
        self.0.update("\n");
    }

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
        assert_eq!(
            outbox.after(0),
            all,
            "a lost response can be requested again"
        );
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
