//! The Huffman code (RFC 7541 5.2 and Appendix B).
//!
//! The code is canonical: sorted by length and then by symbol, each code is the one before plus one.
//! So the lengths alone define it, and every table here is computed from them at compile time.

use super::HpackError;

const SYMBOLS: usize = 257;
const EOS: u16 = 256;
const LENGTH_MAX: usize = 30;

/// Bits of the code of each byte, and of EOS.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The canonical code: symbols in order of their codes, and per length where its codes begin.
struct Canonical {
    sorted: [u16; SYMBOLS],
    codes: [u32; SYMBOLS],
    /// Per length: the first code, the place of its symbol in `sorted`, and the code after the last.
    first_code: [u32; LENGTH_MAX + 1],
    first_place: [u16; LENGTH_MAX + 1],
    end_code: [u32; LENGTH_MAX + 1],
}

static CANONICAL: Canonical = canonical();

const fn canonical() -> Canonical {
    let mut table = Canonical {
        sorted: [0; SYMBOLS],
        codes: [0; SYMBOLS],
        first_code: [0; LENGTH_MAX + 1],
        first_place: [0; LENGTH_MAX + 1],
        end_code: [0; LENGTH_MAX + 1],
    };
    let mut code = 0;
    let mut place = 0;
    let mut length = 1;
    while length <= LENGTH_MAX {
        code <<= 1;
        table.first_code[length] = code;
        table.first_place[length] = place as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                table.sorted[place] = symbol as u16;
                table.codes[symbol] = code;
                place += 1;
                code += 1;
            }
            symbol += 1;
        }
        table.end_code[length] = code;
        length += 1;
    }
    table
}

/// Bits looked up at once: they hold the code of every byte that is usual in a field.
const SHORT_BITS: usize = 10;

/// What the next bits stand for: symbol and length, or a length of 0 where the code is longer.
static SHORT: [(u8, u8); 1 << SHORT_BITS] = short_table();

const fn short_table() -> [(u8, u8); 1 << SHORT_BITS] {
    let mut table = [(0, 0); 1 << SHORT_BITS];
    let mut symbol = 0;
    while symbol < SYMBOLS {
        let length = LENGTHS[symbol] as usize;
        if length <= SHORT_BITS {
            let free_bits = SHORT_BITS - length;
            let first = (CANONICAL.codes[symbol] as usize) << free_bits;
            let mut at = first;
            while at < first + (1 << free_bits) {
                table[at] = (symbol as u8, length as u8);
                at += 1;
            }
        }
        symbol += 1;
    }
    table
}

/// Appends the decoded `input` to `out`.
pub(crate) fn decode(mut input: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    // The shortest code has five bits.
    out.reserve(input.len() * 8 / 5 + 1);
    // The next bits, from the highest on, and how many of them count.
    let mut bits = 0_u64;
    let mut count = 0_u32;
    loop {
        fill(&mut input, &mut bits, &mut count);
        let (symbol, length) = SHORT[(bits >> (64 - SHORT_BITS)) as usize];
        let (symbol, length) = if length == 0 {
            decode_long(bits)?
        } else {
            (symbol, u32::from(length))
        };
        if length > count {
            break;
        }
        out.push(symbol);
        bits <<= length;
        count -= length;
    }
    let padding_is_ones = (!bits).leading_zeros() >= count;
    if count < 8 && padding_is_ones {
        Ok(())
    } else {
        Err(HpackError::Huffman)
    }
}

/// Tops `bits` up from `input`, to 56 bits or more while there are as many.
#[inline]
fn fill(input: &mut &[u8], bits: &mut u64, count: &mut u32) {
    if let Some((word, _)) = input.split_first_chunk::<8>() {
        // Bits beyond `count` may be there already; they are the same ones.
        *bits |= u64::from_be_bytes(*word) >> *count;
        let bytes = (63 - *count) / 8;
        *input = &input[bytes as usize..];
        *count += 8 * bytes;
        return;
    }
    while *count <= 56
        && let Some((&byte, rest)) = input.split_first()
    {
        *bits |= u64::from(byte) << (56 - *count);
        *count += 8;
        *input = rest;
    }
}

#[cold]
fn decode_long(bits: u64) -> Result<(u8, u32), HpackError> {
    for length in SHORT_BITS + 1..=LENGTH_MAX {
        let code = (bits >> (64 - length)) as u32;
        if code < CANONICAL.end_code[length] {
            let place = u32::from(CANONICAL.first_place[length]);
            let symbol = CANONICAL.sorted[(place + code - CANONICAL.first_code[length]) as usize];
            if symbol == EOS {
                return Err(HpackError::Huffman);
            }
            return Ok((symbol as u8, length as u32));
        }
    }
    Err(HpackError::Huffman)
}

/// Bytes of the encoded `input`.
pub(crate) fn encoded_len(input: &[u8]) -> usize {
    let bits: usize = input
        .iter()
        .map(|&byte| LENGTHS[byte as usize] as usize)
        .sum();
    bits.div_ceil(8)
}

/// Appends the encoded `input` to `out`.
pub(crate) fn encode(input: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0_u64;
    let mut count = 0_u32;
    for &byte in input {
        let length = u32::from(LENGTHS[byte as usize]);
        bits = (bits << length) | u64::from(CANONICAL.codes[byte as usize]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        // The rest is filled with the first bits of EOS, which are ones.
        out.push((bits << (8 - count)) as u8 | (0xff >> count));
    }
}
