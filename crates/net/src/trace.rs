//! The nonce in a request and the times in its response, from which added latency is computed.
//!
//! Both values have a fixed width, so a load generator writes a nonce over a placeholder and reads
//! times at fixed positions, and an upstream writes the times into a prepared response.

/// The request field that contains a [`Nonce`], as written on the wire.
pub const NONCE_HEADER: &str = "gatebench-nonce";

/// The response field that contains [`Times`], as written on the wire.
pub const TIMES_HEADER: &str = "gatebench-times";

/// Length of a number in hexadecimal digits.
pub const HEX_BYTES: usize = 16;

/// Length of the value of [`TIMES_HEADER`] in bytes.
pub const TIMES_BYTES: usize = 3 * HEX_BYTES + 2;

const SEQUENCE_BITS: u32 = 40;
const WORKER_BITS: u32 = 8;

/// Identifies one request: a tag (the highest 16 bits), the worker of the load generator (8 bits)
/// and the worker's sequence number (40 bits, enough for twelve days at a million requests per
/// second).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nonce(pub u64);

impl Nonce {
    /// The first sequence number that does not fit.
    pub const SEQUENCE_END: u64 = 1 << SEQUENCE_BITS;

    /// Combines the parts; the low 40 bits of `sequence` are used.
    pub const fn new(tag: u16, worker: u8, sequence: u64) -> Self {
        Self(
            (tag as u64) << (SEQUENCE_BITS + WORKER_BITS)
                | (worker as u64) << SEQUENCE_BITS
                | sequence & (Self::SEQUENCE_END - 1),
        )
    }

    /// The nonce of a worker, whatever its number. Workers 256 to 511 use the tag that follows
    /// `tag`, the next 256 workers use the tag after it, and so on, so the nonces of two workers
    /// differ.
    pub const fn of_worker(tag: u16, worker: usize, sequence: u64) -> Self {
        let further = (worker >> WORKER_BITS) as u16;
        Self::new(tag.wrapping_add(further), worker as u8, sequence)
    }

    /// The number of tags that this number of workers needs.
    pub const fn tags(workers: usize) -> usize {
        workers.div_ceil(1 << WORKER_BITS)
    }

    /// The given tag, or a later one for workers above 255 (see [`Nonce::of_worker`]).
    pub const fn tag(self) -> u16 {
        (self.0 >> (SEQUENCE_BITS + WORKER_BITS)) as u16
    }

    /// The low 8 bits of the worker's number.
    pub const fn worker(self) -> u8 {
        (self.0 >> SEQUENCE_BITS) as u8
    }

    pub const fn sequence(self) -> u64 {
        self.0 & (Self::SEQUENCE_END - 1)
    }

    /// The value of [`NONCE_HEADER`].
    pub fn to_hex(self) -> [u8; HEX_BYTES] {
        let mut hex = [0; HEX_BYTES];
        write_hex(self.0, &mut hex);
        hex
    }

    /// Parses a value of [`NONCE_HEADER`]: exactly 16 hexadecimal digits; otherwise `None`.
    pub fn from_hex(value: &[u8]) -> Option<Self> {
        parse_hex(value.try_into().ok()?).map(Self)
    }
}

/// The times of one request at the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub nonce: Nonce,
    /// The time at which the whole request had been received (t1), in nanoseconds of
    /// `CLOCK_MONOTONIC`.
    pub received_ns: u64,
    /// The time from `received_ns` until the first byte of the response was passed to the kernel
    /// (t2 − t1), in nanoseconds.
    pub service_ns: u64,
}

impl Times {
    /// Writes the value of [`TIMES_HEADER`]: three numbers of 16 hexadecimal digits, separated by
    /// hyphens.
    pub fn write(&self, out: &mut [u8; TIMES_BYTES]) {
        let (nonce, rest) = out.split_at_mut(HEX_BYTES + 1);
        let (received, service) = rest.split_at_mut(HEX_BYTES + 1);
        write_hex(self.nonce.0, nonce);
        write_hex(self.received_ns, received);
        write_hex(self.service_ns, service);
        nonce[HEX_BYTES] = b'-';
        received[HEX_BYTES] = b'-';
    }

    /// Parses a value of [`TIMES_HEADER`]; `None` unless it has the form that [`Times::write`]
    /// describes. Upper-case digits are accepted.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let value: &[u8; TIMES_BYTES] = value.try_into().ok()?;
        if value[HEX_BYTES] != b'-' || value[2 * HEX_BYTES + 1] != b'-' {
            return None;
        }
        let number = |start: usize| parse_hex(value[start..start + HEX_BYTES].try_into().ok()?);
        Some(Self {
            nonce: Nonce(number(0)?),
            received_ns: number(HEX_BYTES + 1)?,
            service_ns: number(2 * HEX_BYTES + 2)?,
        })
    }
}

/// Writes `value` as lower-case hexadecimal over the first 16 bytes of `out`.
fn write_hex(value: u64, out: &mut [u8]) {
    for (byte, pair) in value.to_be_bytes().iter().zip(out.chunks_exact_mut(2)) {
        pair.copy_from_slice(&HEX_PAIRS[usize::from(*byte)]);
    }
}

fn parse_hex(digits: &[u8; HEX_BYTES]) -> Option<u64> {
    let mut value = 0_u64;
    let mut wrong = 0_u8;
    for digit in digits {
        let nibble = HEX_VALUES[usize::from(*digit)];
        wrong |= nibble;
        value = value << 4 | u64::from(nibble & 0xf);
    }
    (wrong & 0x80 == 0).then_some(value)
}

const HEX_PAIRS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// The value of each digit; 0x80 for other bytes.
const HEX_VALUES: [u8; 256] = {
    let mut values = [0x80; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};
