//! The chunked transfer coding (RFC 9112 7.1), decoded byte by byte except for the data.

use super::scan::is_token;
use super::{Limits, ProtocolError};

/// Decodes one chunked body. Extensions and trailer fields are checked and ignored.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkDecoder {
    phase: Phase,
    /// The size while it is being read, then the number of remaining bytes of the chunk.
    chunk_left: u64,
    /// The number of bytes so far in the current size line or in the trailer section.
    line_bytes: usize,
    body_left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SizeFirst,
    Size,
    /// White space after the size. Senders must not write it; recipients must accept it before an
    /// extension (RFC 9112 7.1.1).
    Padding,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerFirst,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Ended,
}

#[derive(Debug)]
pub(super) enum ChunkStep<'i> {
    NeedMore,
    Data(&'i [u8]),
    End,
}

impl ChunkDecoder {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            phase: Phase::SizeFirst,
            chunk_left: 0,
            line_bytes: 0,
            body_left: limits.body_bytes,
        }
    }

    /// Returns the next step, and removes its bytes from the front of `input`.
    pub(super) fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        limits: &Limits,
    ) -> Result<ChunkStep<'i>, ProtocolError> {
        while let Some((&byte, rest)) = input.split_first() {
            if self.phase == Phase::Data {
                let (data, rest) = input.split_at(self.available(input.len()));
                *input = rest;
                self.chunk_left -= data.len() as u64;
                if self.chunk_left == 0 {
                    self.phase = Phase::DataCr;
                }
                return Ok(ChunkStep::Data(data));
            }
            *input = rest;
            self.phase = self.after(byte, limits)?;
            if self.phase == Phase::Ended {
                return Ok(ChunkStep::End);
            }
        }
        Ok(ChunkStep::NeedMore)
    }

    fn available(&self, input_len: usize) -> usize {
        usize::try_from(self.chunk_left).map_or(input_len, |left| left.min(input_len))
    }

    fn after(&mut self, byte: u8, limits: &Limits) -> Result<Phase, ProtocolError> {
        match self.phase {
            Phase::SizeFirst | Phase::Size | Phase::Padding | Phase::Extension => {
                self.after_in_size_line(byte, limits)
            }
            Phase::SizeLf if byte == b'\n' => self.begin_chunk(limits),
            Phase::SizeLf => Err(ProtocolError::ChunkSize),
            Phase::DataCr if byte == b'\r' => Ok(Phase::DataLf),
            Phase::DataLf if byte == b'\n' => {
                self.line_bytes = 0;
                Ok(Phase::SizeFirst)
            }
            Phase::DataCr | Phase::DataLf => Err(ProtocolError::ChunkEnd),
            Phase::EndLf if byte == b'\n' => Ok(Phase::Ended),
            Phase::EndLf => Err(ProtocolError::Trailer),
            _ => self.after_in_trailer(byte, limits),
        }
    }

    fn after_in_size_line(&mut self, byte: u8, limits: &Limits) -> Result<Phase, ProtocolError> {
        if byte == b'\r' && self.phase != Phase::SizeFirst {
            return Ok(Phase::SizeLf);
        }
        self.line_bytes += 1;
        if self.line_bytes > limits.chunk_line_bytes {
            return Err(ProtocolError::ChunkLineTooLong {
                limit: limits.chunk_line_bytes,
            });
        }
        match (self.phase, byte) {
            (Phase::Extension, b'\t' | b' '..=b'~' | 0x80..) => Ok(Phase::Extension),
            (Phase::Extension, _) => Err(ProtocolError::ChunkExtension),
            (Phase::Size | Phase::Padding, b';') => Ok(Phase::Extension),
            (Phase::Size | Phase::Padding, b' ' | b'\t') => Ok(Phase::Padding),
            (Phase::SizeFirst | Phase::Size, _) => self.add_digit(byte),
            _ => Err(ProtocolError::ChunkSize),
        }
    }

    fn add_digit(&mut self, byte: u8) -> Result<Phase, ProtocolError> {
        let shifted = self.chunk_left.checked_mul(16);
        let (Some(digit), Some(shifted)) = (char::from(byte).to_digit(16), shifted) else {
            return Err(ProtocolError::ChunkSize);
        };
        self.chunk_left = shifted | u64::from(digit);
        Ok(Phase::Size)
    }

    fn begin_chunk(&mut self, limits: &Limits) -> Result<Phase, ProtocolError> {
        self.line_bytes = 0;
        let limit = limits.body_bytes;
        let left = self.body_left.checked_sub(self.chunk_left);
        self.body_left = left.ok_or(ProtocolError::BodyTooLarge { limit })?;
        Ok(if self.chunk_left == 0 {
            Phase::TrailerFirst
        } else {
            Phase::Data
        })
    }

    fn after_in_trailer(&mut self, byte: u8, limits: &Limits) -> Result<Phase, ProtocolError> {
        if self.phase == Phase::TrailerFirst && byte == b'\r' {
            return Ok(Phase::EndLf);
        }
        self.line_bytes += 1;
        if self.line_bytes > limits.trailer_bytes {
            return Err(ProtocolError::TrailersTooLarge {
                limit: limits.trailer_bytes,
            });
        }
        match (self.phase, byte) {
            (Phase::TrailerFirst, _) if is_token(byte) => Ok(Phase::TrailerName),
            (Phase::TrailerName, b':') => Ok(Phase::TrailerValue),
            (Phase::TrailerName, _) if is_token(byte) => Ok(Phase::TrailerName),
            (Phase::TrailerValue, b'\r') => Ok(Phase::TrailerLf),
            (Phase::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => Ok(Phase::TrailerValue),
            (Phase::TrailerLf, b'\n') => Ok(Phase::TrailerFirst),
            _ => Err(ProtocolError::Trailer),
        }
    }
}
