//! The directions for a test: the first bytes of an input. The rest of the input is the data that a
//! peer sends.

/// The number of bytes at the beginning of an input that contain the directions.
pub const BYTES: usize = 5;

/// The directions in the first bytes of an input.
#[derive(Clone, Copy, Debug)]
pub struct Directions {
    /// Yes-or-no choices for the fuzz target, one per bit; see [`Directions::flag`].
    pub flags: u8,
    /// The lengths of the pieces minus 1, used cyclically.
    lengths: [u8; BYTES - 1],
}

impl Directions {
    /// Takes the directions from the front of an input; `None` if the input is too short.
    pub fn take(data: &[u8]) -> Option<(Self, &[u8])> {
        let ([flags, lengths @ ..], rest) = data.split_first_chunk::<BYTES>()?;
        let (flags, lengths) = (*flags, *lengths);
        Some((Self { flags, lengths }, rest))
    }

    /// Reports whether the choice with this number, from 0 to 7, is yes.
    pub fn flag(&self, number: u8) -> bool {
        self.flags >> number & 1 == 1
    }

    /// Splits the bytes into pieces with the lengths in the directions. Only the last piece may be
    /// shorter; no piece is empty.
    pub fn cut<'b>(&self, mut bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let mut pieces = Vec::new();
        let mut lengths = self.lengths.iter().cycle();
        while !bytes.is_empty() {
            let length = lengths.next().map_or(1, |it| usize::from(*it) + 1);
            let (piece, rest) = bytes.split_at(length.min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}
