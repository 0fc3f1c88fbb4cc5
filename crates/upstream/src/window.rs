//! Remembers the sequence numbers that were seen, in sliding windows that threads share without a
//! lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gatebench_net::trace::Nonce;

/// The default number of streams whose nonces an upstream remembers.
pub const STREAMS: usize = 64;

/// The maximum number of sequence numbers that all windows together cover, for up to 32,768
/// streams. With more streams, each window has the minimum length.
const SEQUENCES: u64 = 1 << 32;

const SEQUENCES_PER_WORD: u64 = 32;
const WORDS_PER_CHUNK: usize = 4096;
/// The number of sequence numbers in the smallest window.
const SEQUENCES_MIN: u64 = SEQUENCES_PER_WORD * WORDS_PER_CHUNK as u64;

/// The result of looking up a sequence number that has just arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sighting {
    First,
    Repeated,
    /// A later number has replaced this one in the window, so it is unknown whether this number was
    /// seen before.
    TooOld,
    /// The upstream was started for fewer streams, so the number is not remembered.
    Untracked,
}

/// A stream is a pair of a load's tag and a worker of the load generator. The memory grows with the
/// numbers seen, in chunks of 32 KiB for 131,072 numbers. For up to 32,768 streams, the windows in
/// use take at most 1 GiB in total; with more streams, they take at most one chunk per stream. A
/// reset does not free memory.
pub(crate) struct Windows {
    /// A hash table of streams. Each place contains the stream's number (tag and worker) plus 1, or
    /// 0 if it is free. At least half of the places stay free, so that a search ends soon.
    streams: Box<[AtomicU32]>,
    windows: Box<[OnceLock<Window>]>,
    /// The maximum number of streams that are remembered between two resets.
    streams_max: u32,
    held: AtomicU32,
    /// The number of sequence numbers in each window.
    sequences: u64,
    /// A number that increases with each reset. It is part of every word, so increasing it clears
    /// all windows.
    generation: AtomicU64,
}

impl Windows {
    /// Creates the windows for at most this many streams between two resets.
    pub(crate) fn new(streams: usize) -> Self {
        // A tag and a worker have 24 bits in total, so there cannot be more streams than this.
        let streams = streams.clamp(1, 1 << 24);
        let places = 2 * streams.next_power_of_two();
        let sequences = SEQUENCES / streams.next_power_of_two() as u64;
        Self {
            streams: (0..places).map(|_| AtomicU32::new(0)).collect(),
            windows: (0..places).map(|_| OnceLock::new()).collect(),
            streams_max: streams as u32,
            held: AtomicU32::new(0),
            sequences: sequences.max(SEQUENCES_MIN),
            generation: AtomicU64::new(1),
        }
    }

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

    /// Call this only between loads, because a nonce that is recorded at the same time may or may
    /// not be forgotten.
    pub(crate) fn reset(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        for stream in &self.streams {
            stream.store(0, Ordering::Relaxed);
        }
        self.held.store(0, Ordering::Relaxed);
    }

    fn window_of(&self, stream: u32) -> Option<&Window> {
        let last = self.streams.len() - 1;
        // Fibonacci hashing: the high bits of the product depend on all bits of the number.
        let mut place = (u64::from(stream).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        loop {
            place &= last;
            let slot = &self.streams[place];
            let mut holder = slot.load(Ordering::Relaxed);
            if holder == 0 {
                if self.held.fetch_add(1, Ordering::Relaxed) >= self.streams_max {
                    self.held.fetch_sub(1, Ordering::Relaxed);
                    return None;
                }
                match slot.compare_exchange(0, stream, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => holder = stream,
                    Err(other) => {
                        self.held.fetch_sub(1, Ordering::Relaxed);
                        holder = other;
                    }
                }
            }
            if holder == stream {
                let new = || Window::new(self.sequences);
                return Some(self.windows[place].get_or_init(new));
            }
            place += 1;
        }
    }
}

/// Each word has a bit for each of 32 sequence numbers, the epoch (16 bits) and the generation (16
/// bits). The epoch counts how often the window has wrapped around. The first number of a later
/// epoch replaces the word of an earlier one, so words need not be cleared.
struct Window {
    sequences: u64,
    chunks: Box<[OnceLock<Box<[AtomicU64]>>]>,
}

impl Window {
    fn new(sequences: u64) -> Self {
        let chunks = sequences / SEQUENCES_MIN;
        Self {
            sequences,
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
        }
    }

    fn see(&self, sequence: u64, generation: u64) -> Sighting {
        let index = (sequence % self.sequences / SEQUENCES_PER_WORD) as usize;
        let chunk = self.chunks[index / WORDS_PER_CHUNK]
            .get_or_init(|| (0..WORDS_PER_CHUNK).map(|_| AtomicU64::new(0)).collect());
        let word = &chunk[index % WORDS_PER_CHUNK];
        let bit = 1 << (sequence % SEQUENCES_PER_WORD);
        let owner = (generation << 16) | ((sequence / self.sequences) & 0xffff);
        let mut found = word.load(Ordering::Relaxed);
        loop {
            let next = match found >> 32 {
                same if same == owner && found & bit != 0 => return Sighting::Repeated,
                same if same == owner => found | bit,
                other if other >> 16 == generation && is_later(other, owner) => {
                    return Sighting::TooOld;
                }
                _ => (owner << 32) | bit,
            };
            match word.compare_exchange_weak(found, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Sighting::First,
                Err(changed) => found = changed,
            }
        }
    }
}

/// Reports whether the epoch in `owner` is later than the epoch in `than`. Epochs wrap around, so
/// half of all epochs are later than any given epoch.
fn is_later(owner: u64, than: u64) -> bool {
    (owner as u16).wrapping_sub(than as u16).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of each window if an upstream is started for 64 streams.
    const WINDOW_SEQUENCES: u64 = 1 << 26;

    #[test]
    fn a_number_is_new_once_in_its_stream() {
        let windows = Windows::new(STREAMS);
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
        let windows = Windows::new(STREAMS);
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
    fn a_reset_forgets_the_numbers() {
        let windows = Windows::new(STREAMS);
        let nonce = Nonce::new(1, 0, 70);
        assert_eq!(windows.see(nonce), Sighting::First);
        windows.reset();
        assert_eq!(windows.see(nonce), Sighting::First);
        assert_eq!(windows.see(nonce), Sighting::Repeated);
    }

    #[test]
    fn streams_are_bounded() {
        let windows = Windows::new(STREAMS);
        for tag in 0..STREAMS as u16 {
            assert_eq!(windows.see(Nonce::new(tag, 0, 0)), Sighting::First);
        }
        assert_eq!(windows.see(Nonce::new(u16::MAX, 0, 0)), Sighting::Untracked);
        assert_eq!(windows.see(Nonce::new(0, 0, 0)), Sighting::Repeated);
    }

    #[test]
    fn an_upstream_for_many_load_generators_remembers_all_their_workers() {
        let windows = Windows::new(100 * 8);
        for round in [Sighting::First, Sighting::Repeated] {
            for stream in 0..800_u16 {
                let nonce = Nonce::new(stream / 8, (stream % 8) as u8, 7);
                assert_eq!(windows.see(nonce), round, "{stream}");
            }
        }
        assert_eq!(windows.see(Nonce::new(100, 0, 0)), Sighting::Untracked);
        // These windows are shorter than those for 64 streams, so that all of them together need no
        // more memory.
        let late = 1 << 22;
        assert_eq!(windows.see(Nonce::new(1, 1, 7 + late)), Sighting::First);
        assert_eq!(windows.see(Nonce::new(1, 1, 7)), Sighting::TooOld);
    }

    #[test]
    fn each_number_is_first_for_exactly_one_of_several_threads() {
        let windows = Windows::new(STREAMS);
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
