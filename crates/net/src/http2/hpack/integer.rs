//! Integers with a prefix (RFC 7541 5.1).

use super::HpackError;

/// Reads an integer that begins in the `prefix_bits` (4 to 7) low bits of the first byte; the high
/// bits of that byte have another meaning.
#[inline(always)]
pub(crate) fn read(input: &mut &[u8], prefix_bits: u32) -> Result<u32, HpackError> {
    // Here and in the decoder, `else` is used instead of `ok_or`, because the result of `ok_or`
    // passes through memory in parts, which stalls the processor.
    let Some((&first, rest)) = input.split_first() else {
        return Err(HpackError::Truncated);
    };
    *input = rest;
    let prefix_max = (1_u32 << prefix_bits) - 1;
    let value = u32::from(first) & prefix_max;
    if value < prefix_max {
        return Ok(value);
    }
    read_rest(input, prefix_max)
}

#[inline]
fn read_rest(input: &mut &[u8], prefix_max: u32) -> Result<u32, HpackError> {
    let mut value = u64::from(prefix_max);
    // Five groups of seven bits hold 32 bits. A sixth could only add zeros or exceed 32 bits, so it
    // is refused.
    for group in 0..5 {
        let Some((&byte, rest)) = input.split_first() else {
            return Err(HpackError::Truncated);
        };
        *input = rest;
        value += u64::from(byte & 0x7f) << (7 * group);
        if byte & 0x80 == 0 {
            return u32::try_from(value).map_err(|_| HpackError::Integer);
        }
    }
    Err(HpackError::Integer)
}

/// Writes an integer; `flags` are the bits of the first byte above the prefix.
pub(crate) fn write(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, value: usize) {
    let prefix_max = (1_usize << prefix_bits) - 1;
    if value < prefix_max {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | prefix_max as u8);
    let mut rest = value - prefix_max;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
