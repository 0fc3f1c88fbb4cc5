//! The bytes of long answers, made once.

use std::sync::LazyLock;

use crate::random::Random;

/// Bytes of one block; longer bodies repeat it.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

/// Lines of letters, 64 bytes each.
pub(crate) static TEXT: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let line = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-\n";
    line.iter().copied().cycle().take(BLOCK_BYTES).collect()
});

/// Bytes that do not compress, the same in every run.
pub(crate) static NOISE: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut random = Random::new(0);
    (0..BLOCK_BYTES / 8)
        .flat_map(|_| random.next().to_le_bytes())
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_full_and_repeats_without_a_seam() {
        assert_eq!((TEXT.len(), NOISE.len()), (BLOCK_BYTES, BLOCK_BYTES));
        assert_eq!(TEXT.last(), Some(&b'\n'));
    }
}
