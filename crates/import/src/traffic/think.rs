//! Records the think times of clients: the time from a client's request to its next one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// The maximum pause within a visit.
const PAUSE_MS_MAX: i64 = 120_000;

/// The maximum number of clients whose last requests are remembered.
const CLIENTS_MAX: usize = 200_000;

/// The pauses of all clients. Clients are stored only as hashes with a random key.
#[derive(Debug, Default)]
pub(super) struct Think {
    hasher: RandomState,
    last_ms: HashMap<u64, i64>,
    pauses: u64,
    sum_ms: u64,
}

impl Think {
    pub(super) fn add(&mut self, client: &[u8], at_ms: i64) {
        if client.is_empty() {
            return;
        }
        if self.last_ms.len() >= CLIENTS_MAX {
            self.last_ms.retain(|_, last| at_ms - *last <= PAUSE_MS_MAX);
            if self.last_ms.len() >= CLIENTS_MAX {
                self.last_ms.clear();
            }
        }
        let before = self.last_ms.insert(self.hasher.hash_one(client), at_ms);
        if let Some(pause) = before.map(|before| at_ms - before)
            && (0..=PAUSE_MS_MAX).contains(&pause)
        {
            self.pauses += 1;
            self.sum_ms += pause as u64;
        }
    }

    /// Returns the mean pause in milliseconds, or `None` if no client sent a second request within
    /// a visit.
    pub(super) fn mean_ms(&self) -> Option<u64> {
        (self.pauses > 0).then(|| self.sum_ms / self.pauses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pauses_within_a_visit_are_counted() {
        let mut think = Think::default();
        assert_eq!(think.mean_ms(), None);
        for (client, at) in [
            ("a", 0),
            ("b", 500),
            ("a", 2_000),
            ("b", 4_500),
            ("a", 900_000),
            ("", 1),
        ] {
            think.add(client.as_bytes(), at);
        }
        assert_eq!(think.mean_ms(), Some(3_000));
    }
}
