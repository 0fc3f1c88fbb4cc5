//! The first bytes of an input direct the test; the rest is the input of a peer.

/// The length of an input's directions, in bytes.
pub const BYTES: usize = 5;

/// The directions in the first bytes of an input.
#[derive(Clone, Copy, Debug)]
pub struct Directions {
    /// One bit for each choice that a target has.
    pub flags: u8,
    /// Lengths of the pieces of the bytes, in a cycle.
    lengths: [u8; BYTES - 1],
}

impl Directions {
    /// Takes them from the front of an input; `None` if it is too short.
    pub fn take(data: &[u8]) -> Option<(Self, &[u8])> {
        let ([flags, lengths @ ..], rest) = data.split_first_chunk::<BYTES>()?;
        let (flags, lengths) = (*flags, *lengths);
        Some((Self { flags, lengths }, rest))
    }

    /// Reports whether the choice with that number is taken.
    pub fn flag(&self, number: u8) -> bool {
        self.flags >> number & 1 == 1
    }

    /// The bytes in pieces, none of them empty.
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
