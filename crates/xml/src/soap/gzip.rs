//! Gzip bodies, with a size limit.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Decompresses bytes.
///
/// # Errors
/// They are not gzip, end too early, or decompress to more than `bytes_max`.
pub(crate) fn unpack(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(packed.len().saturating_mul(4).min(bytes_max));
    let limit = u64::try_from(bytes_max)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    MultiGzDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut out)
        .map_err(|error| error.to_string())?;
    if out.len() > bytes_max {
        return Err(format!("it unpacks to more than {bytes_max} bytes"));
    }
    Ok(out)
}

/// Compresses bytes at the fastest level: the peer saves bytes on the wire, and the gateway pays
/// with processor time.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(
        Vec::with_capacity(bytes.len() / 2 + 64),
        Compression::fast(),
    );
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn packed_text_unpacks_to_itself() {
        let text = b"<a>text</a>".repeat(100);
        assert_eq!(unpack(&pack(&text), text.len()).unwrap(), text);
    }

    #[test]
    fn bombs_and_fragments_are_refused() {
        let bomb = pack(&vec![0; 50 << 20]);
        assert!(bomb.len() < 300_000);
        let refused = unpack(&bomb, 1 << 20).unwrap_err();
        assert_eq!(refused, "it unpacks to more than 1048576 bytes");
        assert!(unpack(&bomb[..bomb.len() / 2], 100 << 20).is_err());
        assert!(unpack(b"no gzip", 100).is_err());
    }
}
