//! The Huffman code (RFC 7541 5.2 and Appendix B).
//!
//! The code is canonical: in order of length and then of symbol, each code is its predecessor plus
//! 1, padded with zero bits to its own length. Therefore, the lengths alone define the code, and
//! every table here is computed from them at compile time.

use super::HpackError;

const SYMBOLS: usize = 257;
const EOS: u16 = 256;
const LENGTH_MAX: usize = 30;

/// The length in bits of the code of each byte, and of EOS.
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

/// The canonical code: symbols in the order of their codes, and the range of codes of each length.
struct Canonical {
    sorted: [u16; SYMBOLS],
    codes: [u32; SYMBOLS],
    /// For each length: the first code, the position of its symbol in `sorted`, and the code after
    /// the last.
    first_code: [u32; LENGTH_MAX + 1],
    first_place: [u16; LENGTH_MAX + 1],
    end_code: [u32; LENGTH_MAX + 1],
}

static CANONICAL: Canonical = canonical();

/// The code of each byte, and of EOS.
static CODES: [u32; SYMBOLS] = canonical().codes;

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

/// The number of bits looked up at once. It is usually enough for the codes of two bytes that are
/// common in fields.
const LOOKUP_BITS: usize = 12;

/// The one or two symbols whose codes are at the beginning of the next bits. There are none if the
/// first code is longer than [`LOOKUP_BITS`].
#[derive(Clone, Copy)]
struct Lookup {
    symbols: [u8; 2],
    symbol_count: u8,
    /// The total length of their codes in bits.
    length: u8,
}

static LOOKUPS: [Lookup; 1 << LOOKUP_BITS] = lookups();

const fn lookups() -> [Lookup; 1 << LOOKUP_BITS] {
    let mut table = [Lookup {
        symbols: [0; 2],
        symbol_count: 0,
        length: 0,
    }; 1 << LOOKUP_BITS];
    // First, each entry that begins with a whole code gets its first symbol. Then each of these
    // entries whose remaining bits begin with a whole code gets its second symbol.
    let mut symbol = 0;
    while symbol < EOS as usize {
        let length = LENGTHS[symbol] as usize;
        if length <= LOOKUP_BITS {
            let free_bits = LOOKUP_BITS - length;
            let first = (CODES[symbol] as usize) << free_bits;
            let mut at = first;
            while at < first + (1 << free_bits) {
                table[at].symbols[0] = symbol as u8;
                table[at].symbol_count = 1;
                table[at].length = length as u8;
                at += 1;
            }
        }
        symbol += 1;
    }
    let singles = table;
    let mut at = 0;
    while at < table.len() {
        let first = singles[at];
        let second = singles[(at << first.length) & (table.len() - 1)];
        let length = first.length + second.length;
        if first.symbol_count == 1 && second.symbol_count == 1 && length as usize <= LOOKUP_BITS {
            table[at].symbols[1] = second.symbols[0];
            table[at].symbol_count = 2;
            table[at].length = length;
        }
        at += 1;
    }
    table
}

pub(crate) fn decode(mut input: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut bits = Bits { next: 0, count: 0 };
    let mut at = out.len();
    // The shortest code has five bits. All memory is reserved first, which costs less than
    // reserving it with each symbol. Two more bytes leave room for the last step, which writes two
    // bytes even if only one counts.
    out.resize(at + input.len() * 8 / 5 + 2, 0);
    loop {
        bits.fill(&mut input);
        while bits.count >= LOOKUP_BITS as u32 {
            let lookup = bits.look_up();
            if lookup.symbol_count == 0 {
                break;
            }
            out[at..at + 2].copy_from_slice(&lookup.symbols);
            at += usize::from(lookup.symbol_count);
            bits.skip(u32::from(lookup.length));
        }
        bits.fill(&mut input);
        let Some(symbol) = bits.decode_one()? else {
            break;
        };
        out[at] = symbol;
        at += 1;
    }
    out.truncate(at);
    // The remaining bits must be the first bits of EOS, which are ones.
    if bits.count < 8 && bits.next.leading_ones() >= bits.count {
        Ok(())
    } else {
        Err(HpackError::Huffman)
    }
}

/// Bits that are still to be decoded.
struct Bits {
    /// The bits, starting at the highest.
    next: u64,
    /// The number of bits that are counted as valid. The bits after them are zeros, or bits of the
    /// input that are not counted yet.
    count: u32,
}

impl Bits {
    /// Moves bytes from the front of `input` until there are at least 56 bits, or no more bytes.
    #[inline]
    fn fill(&mut self, input: &mut &[u8]) {
        if let Some((word, _)) = input.split_first_chunk::<8>() {
            self.next |= u64::from_be_bytes(*word) >> self.count;
            let bytes = (63 - self.count) / 8;
            self.count += 8 * bytes;
            *input = &input[bytes as usize..];
            return;
        }
        while self.count <= 56
            && let Some((&byte, rest)) = input.split_first()
        {
            self.next |= u64::from(byte) << (56 - self.count);
            self.count += 8;
            *input = rest;
        }
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.next <<= count;
        self.count -= count;
    }

    #[inline]
    fn look_up(&self) -> Lookup {
        LOOKUPS[(self.next >> (64 - LOOKUP_BITS)) as usize]
    }

    /// Decodes one code, if all its bits are available.
    #[inline]
    fn decode_one(&mut self) -> Result<Option<u8>, HpackError> {
        let lookup = self.look_up();
        let (symbol, length) = if lookup.symbol_count == 0 {
            decode_long(self.next)?
        } else {
            let symbol = lookup.symbols[0];
            (symbol, u32::from(LENGTHS[symbol as usize]))
        };
        if length > self.count {
            return Ok(None);
        }
        self.skip(length);
        Ok(Some(symbol))
    }
}

#[cold]
fn decode_long(bits: u64) -> Result<(u8, u32), HpackError> {
    for length in LOOKUP_BITS + 1..=LENGTH_MAX {
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

/// The size of the encoded `input` in bytes.
pub(crate) fn encoded_len(input: &[u8]) -> usize {
    let bits: usize = input
        .iter()
        .map(|&byte| LENGTHS[byte as usize] as usize)
        .sum();
    bits.div_ceil(8)
}

pub(crate) fn encode(input: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0_u64;
    let mut count = 0_u32;
    for &byte in input {
        let length = u32::from(LENGTHS[byte as usize]);
        bits = (bits << length) | u64::from(CODES[byte as usize]);
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
