//! Splits received bytes into frames.

use super::ProtocolError;
use super::frame::{FrameHeader, FrameType, HEADER_BYTES, PADDED};

/// Keeps the beginning of a frame whose rest has not arrived. Only the payload of DATA is never
/// kept: it is passed on as it arrives.
#[derive(Debug, Default)]
pub(super) struct Intake {
    held: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Taken<'i> {
    /// More bytes are needed. The part of the frame that has arrived is kept.
    NeedMore,
    /// A DATA frame. Its payload follows, without the byte that states the length of its padding.
    Data { header: FrameHeader, padding: u8 },
    /// A complete frame, whose payload is still in the memory of the input.
    Frame {
        header: FrameHeader,
        payload: &'i [u8],
    },
    /// A complete frame, which [`Intake::take_held`] returns with its header.
    Held(FrameHeader),
}

impl Intake {
    /// Removes a frame from the front of `input`. `check` is called as soon as the frame's header
    /// has arrived, perhaps repeatedly.
    #[inline]
    pub(super) fn take<'i>(
        &mut self,
        input: &mut &'i [u8],
        check: impl Fn(&FrameHeader) -> Result<(), ProtocolError>,
    ) -> Result<Taken<'i>, ProtocolError> {
        if self.held.is_empty() {
            let bytes: &'i [u8] = input;
            let wanted = wanted(bytes, &check)?;
            if let (Some(header), Some((frame, rest))) =
                (header_of(bytes), bytes.split_at_checked(wanted))
            {
                *input = rest;
                let payload = &frame[HEADER_BYTES..];
                return Ok(if header.frame == FrameType::DATA {
                    let padding = payload.first().copied().unwrap_or(0);
                    Taken::Data { header, padding }
                } else {
                    Taken::Frame { header, payload }
                });
            }
        }
        self.hold(input, check)
    }

    fn hold<'i>(
        &mut self,
        input: &mut &[u8],
        check: impl Fn(&FrameHeader) -> Result<(), ProtocolError>,
    ) -> Result<Taken<'i>, ProtocolError> {
        loop {
            let wanted = wanted(&self.held, &check)?;
            if let Some(header) = header_of(&self.held)
                && self.held.len() == wanted
            {
                if header.frame == FrameType::DATA {
                    let padding = self.held.get(HEADER_BYTES).copied().unwrap_or(0);
                    self.held.clear();
                    return Ok(Taken::Data { header, padding });
                }
                return Ok(Taken::Held(header));
            }
            if input.is_empty() {
                return Ok(Taken::NeedMore);
            }
            let missing = (wanted - self.held.len()).min(input.len());
            let (taken, rest) = input.split_at(missing);
            self.held.extend_from_slice(taken);
            *input = rest;
        }
    }

    /// The kept frame including its header; to be returned with [`Intake::release`].
    pub(super) fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    pub(super) fn release(&mut self, mut held: Vec<u8>) {
        held.clear();
        self.held = held;
    }
}

#[inline]
fn header_of(bytes: &[u8]) -> Option<FrameHeader> {
    bytes.first_chunk().map(FrameHeader::parse)
}

/// The number of bytes that must be available before a frame with this beginning can be processed.
#[inline]
fn wanted(
    bytes: &[u8],
    check: impl Fn(&FrameHeader) -> Result<(), ProtocolError>,
) -> Result<usize, ProtocolError> {
    let Some(header) = header_of(bytes) else {
        return Ok(HEADER_BYTES);
    };
    check(&header)?;
    Ok(HEADER_BYTES
        + match header.frame {
            FrameType::DATA => usize::from(header.has(PADDED)),
            _ => header.length as usize,
        })
}
