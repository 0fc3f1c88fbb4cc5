//! Gzip bodies, with a size limit.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// # Errors
/// Fails if the input is not gzip, ends too early, or decompresses to more than `bytes_max`.
pub(crate) fn unpack(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(packed.len().saturating_mul(4).min(bytes_max));
    // Read one more byte, which shows that the limit is exceeded.
    let mut limited = MultiGzDecoder::new(packed).take((bytes_max as u64).saturating_add(1));
    let read = limited.read_to_end(&mut out);
    read.map_err(|error| error.to_string())?;
    if out.len() > bytes_max {
        return Err(format!("it unpacks to more than {bytes_max} bytes"));
    }
    Ok(out)
}

/// Compresses bytes at the fastest level, because CPU time costs the gateway more than bytes on the
/// wire.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let out = Vec::with_capacity(bytes.len() / 2 + 64);
    let mut encoder = GzEncoder::new(out, Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
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
