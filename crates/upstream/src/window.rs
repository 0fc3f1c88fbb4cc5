//! The sequence numbers that were seen within a sliding window, shared without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gatebench_net::trace::Nonce;

/// The number of sequence numbers remembered for each pair of run tag and engine worker: 2²⁶.
pub(crate) const WINDOW_SEQUENCES: u64 = 1 << 26;

/// Pairs of tag and worker that are distinguished until the next reset.
pub(crate) const STREAMS_MAX: usize = 64;

const SEQUENCES_PER_WORD: u64 = 32;
const WORDS_PER_CHUNK: usize = 4096;
const CHUNKS: usize = (WINDOW_SEQUENCES / SEQUENCES_PER_WORD) as usize / WORDS_PER_CHUNK;

/// The result of looking up a sequence number that has just arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    First,
    Repeated,
    /// Its place in the window is used by a later number, so nothing is known.
    TooOld,
    /// There are more streams than [`STREAMS_MAX`], so it is not remembered.
    Untracked,
}

/// The windows of all streams. Memory grows with the numbers seen, in chunks of 32 KiB for 131,072
/// numbers, up to 16 MiB per stream.
pub(crate) struct Windows {
    /// Tag and worker plus one, in order of arrival; 0 is free.
    streams: [AtomicU32; STREAMS_MAX],
    windows: [OnceLock<Window>; STREAMS_MAX],
    /// The number of resets; part of every word, so that a single store clears everything.
    generation: AtomicU64,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            streams: std::array::from_fn(|_| AtomicU32::new(0)),
            windows: std::array::from_fn(|_| OnceLock::new()),
            generation: AtomicU64::new(1),
        }
    }
}

impl Windows {
    /// Notes a nonce.
    pub(crate) fn see(&self, nonce: Nonce) -> Sighting {
        let stream = u32::from(nonce.tag()) << 8 | u32::from(nonce.worker());
        match self.window_of(stream + 1) {
            Some(window) => window.see(
                nonce.sequence(),
                self.generation.load(Ordering::Relaxed) & 0xffff,
            ),
            None => Sighting::Untracked,
        }
    }

    /// Forgets everything. Use it only between loads, because a nonce noted at the same moment may
    /// be forgotten or kept.
    pub(crate) fn reset(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        for stream in &self.streams {
            stream.store(0, Ordering::Relaxed);
        }
    }

    fn window_of(&self, stream: u32) -> Option<&Window> {
        for (slot, window) in self.streams.iter().zip(&self.windows) {
            let mut holder = slot.load(Ordering::Relaxed);
            if holder == 0 {
                holder = slot
                    .compare_exchange(0, stream, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|other| other, |_| stream);
            }
            if holder == stream {
                return Some(window.get_or_init(Window::default));
            }
        }
        None
    }
}

/// One stream's window: words of 32 bits, one for each sequence number, tagged with the epoch (16
/// bits: the turn of the window) and the generation (16 bits). The first number of a later epoch
/// replaces a word of an earlier one, so nothing needs clearing.
struct Window {
    chunks: Box<[OnceLock<Box<[AtomicU64]>>]>,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl Window {
    fn see(&self, sequence: u64, generation: u64) -> Sighting {
        let index = (sequence % WINDOW_SEQUENCES / SEQUENCES_PER_WORD) as usize;
        let chunk = self.chunks[index / WORDS_PER_CHUNK]
            .get_or_init(|| (0..WORDS_PER_CHUNK).map(|_| AtomicU64::new(0)).collect());
        let word = &chunk[index % WORDS_PER_CHUNK];
        let bit = 1 << (sequence % SEQUENCES_PER_WORD);
        let owner = (generation << 16) | (sequence / WINDOW_SEQUENCES);
        let mut found = word.load(Ordering::Relaxed);
        loop {
            let next = match found >> 32 {
                same if same == owner && found & bit != 0 => return Sighting::Repeated,
                same if same == owner => found | bit,
                other if other >> 16 == generation && other > owner => return Sighting::TooOld,
                _ => (owner << 32) | bit,
            };
            match word.compare_exchange_weak(found, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Sighting::First,
                Err(changed) => found = changed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once_in_its_stream() {
        let windows = Windows::default();
        for sequence in [0, 1, 31, 32, 131_071, 131_072, WINDOW_SEQUENCES - 1] {
            let nonce = Nonce::new(9, 1, sequence);
            assert_eq!(windows.see(nonce), Sighting::First, "{sequence}");
            assert_eq!(windows.see(nonce), Sighting::Repeated, "{sequence}");
            assert_eq!(windows.see(Nonce::new(9, 2, sequence)), Sighting::First);
            assert_eq!(windows.see(Nonce::new(8, 1, sequence)), Sighting::First);
        }
    }

    #[test]
    fn the_window_slides() {
        let windows = Windows::default();
        for (sequence, expected) in [
            (5, Sighting::First),
            (5 + WINDOW_SEQUENCES, Sighting::First),
            (5, Sighting::TooOld),
            (5 + WINDOW_SEQUENCES, Sighting::Repeated),
            (Nonce::SEQUENCE_END - 1, Sighting::First),
            (Nonce::SEQUENCE_END - 1, Sighting::Repeated),
        ] {
            assert_eq!(windows.see(Nonce::new(1, 0, sequence)), expected);
        }
    }

    #[test]
    fn a_reset_forgets() {
        let windows = Windows::default();
        let nonce = Nonce::new(1, 0, 70);
        assert_eq!(windows.see(nonce), Sighting::First);
        windows.reset();
        assert_eq!(windows.see(nonce), Sighting::First);
        assert_eq!(windows.see(nonce), Sighting::Repeated);
    }

    #[test]
    fn streams_are_bounded() {
        let windows = Windows::default();
        for tag in 0..STREAMS_MAX as u16 {
            assert_eq!(windows.see(Nonce::new(tag, 0, 0)), Sighting::First);
        }
        assert_eq!(windows.see(Nonce::new(u16::MAX, 0, 0)), Sighting::Untracked);
        assert_eq!(windows.see(Nonce::new(0, 0, 0)), Sighting::Repeated);
    }

    #[test]
    fn each_number_is_first_for_exactly_one_of_several_threads() {
        let windows = Windows::default();
        let firsts = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for sequence in 0..20_000 {
                        if windows.see(Nonce::new(3, 3, sequence)) == Sighting::First {
                            firsts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(firsts.into_inner(), 20_000);
    }
}
