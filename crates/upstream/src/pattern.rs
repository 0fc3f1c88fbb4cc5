//! The bytes of long responses, which are generated once.

use std::sync::LazyLock;

use crate::random::Random;

/// The size of the block that longer bodies repeat, in bytes.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

/// Lines of 64 bytes, including the line feed.
pub(crate) static TEXT: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let line = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-\n";
    line.iter().copied().cycle().take(BLOCK_BYTES).collect()
});

/// Bytes that cannot be compressed. They are the same in every run.
pub(crate) static NOISE: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut random = Random::new(0);
    (0..BLOCK_BYTES / 8)
        .flat_map(|_| random.next().to_le_bytes())
        .collect()
});

/// Appends a range of the endless repetition of [`TEXT`].
pub(crate) fn copy(out: &mut Vec<u8>, range: std::ops::Range<u64>) {
    let mut at = range.start;
    while at < range.end {
        let block = &TEXT[at as usize % BLOCK_BYTES..];
        let wanted = usize::try_from(range.end - at).unwrap_or(usize::MAX);
        let piece = &block[..wanted.min(block.len())];
        out.extend_from_slice(piece);
        at += piece.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_the_text_is_the_same_as_one_long_copy() {
        let mut whole = Vec::new();
        copy(&mut whole, 0..200_000);
        for range in [
            0..1,
            60..70,
            65_530..65_540,
            0..65_536,
            65_536..199_999,
            5..5,
        ] {
            let mut part = Vec::new();
            copy(&mut part, range.clone());
            assert_eq!(part, whole[range.start as usize..range.end as usize]);
        }
    }

    #[test]
    fn a_block_is_full_and_repeats_without_a_seam() {
        assert_eq!((TEXT.len(), NOISE.len()), (BLOCK_BYTES, BLOCK_BYTES));
        assert_eq!(TEXT.last(), Some(&b'\n'));
    }
}
