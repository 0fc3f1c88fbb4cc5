//! Templates compiled to pieces that are either constant or drawn.

use gatebench_model::template::{Piece, Template};

use crate::data::{DataError, DataSet, Slot};
use crate::sampler::Sampler;

/// A string in a request, ready to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pieces: Vec<TextPiece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextPiece {
    Bytes(Vec<u8>),
    Value(Slot),
}

impl Text {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let mut text = Self::default();
        text.push_bytes(bytes);
        text
    }

    pub(crate) fn compile(text: &str, data: &DataSet) -> Result<Self, DataError> {
        let template = Template::parse(text)?;
        let pieces = template.pieces().iter().map(|piece| match piece {
            Piece::Text(text) => Ok(TextPiece::Bytes(text.clone().into_bytes())),
            Piece::Value(reference) => data.resolve(reference).map(TextPiece::Value),
        });
        Ok(Self {
            pieces: pieces.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            _ if bytes.is_empty() => {}
            Some(TextPiece::Bytes(before)) => before.extend_from_slice(bytes),
            _ => self.pieces.push(TextPiece::Bytes(bytes.to_vec())),
        }
    }

    pub(crate) fn push(&mut self, text: &Self) {
        for piece in &text.pieces {
            match piece {
                TextPiece::Bytes(bytes) => self.push_bytes(bytes),
                value @ TextPiece::Value(_) => self.pieces.push(value.clone()),
            }
        }
    }

    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(&[]),
            [TextPiece::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.pieces.iter().filter_map(|piece| match piece {
            TextPiece::Bytes(_) => None,
            TextPiece::Value(slot) => Some(*slot),
        })
    }

    /// Appends the text, filled with the values drawn last.
    pub(crate) fn write(&self, sampler: &Sampler, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                TextPiece::Bytes(bytes) => out.extend_from_slice(bytes),
                TextPiece::Value(slot) => sampler.write(*slot, out),
            }
        }
    }
}
