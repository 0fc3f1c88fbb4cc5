//! The messages on a connection to a helper: orders, and their results in the same sequence.
//! helper.py defines the format.

use super::text;
use crate::errors::Complaints;

const ORDER_BYTES: usize = 21;
const RESPONSE_BYTES: usize = 5;

/// The result of an order: the transformed document, or the reason why there is none.
pub type Made = Result<Vec<u8>, Unmade>;

/// The reason why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmade {
    /// Saxon or the check of the input reported an error in the message or the stylesheet.
    #[error(transparent)]
    Refused(#[from] Complaints),
    /// The helper ended while working on the order, or there is no helper.
    #[error("{0}")]
    Gone(Complaints),
}

impl From<Unmade> for Complaints {
    fn from(unmade: Unmade) -> Self {
        let (Unmade::Refused(why) | Unmade::Gone(why)) = unmade;
        why
    }
}

/// `kind` is one of helper.py's letters.
pub(super) fn order(
    kind: u8,
    number: u64,
    stylesheet: u64,
    text: &[u8],
) -> Result<Vec<u8>, Complaints> {
    let length = u32::try_from(text.len())
        .map_err(|_| Complaints::own(0, "The document is larger than 4 GiB"))?;
    let mut out = Vec::with_capacity(ORDER_BYTES + text.len());
    out.push(kind);
    out.extend(number.to_le_bytes());
    out.extend(stylesheet.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(text);
    Ok(out)
}

/// Removes the next result from the front of a helper's bytes. Returns `None` while the result is
/// incomplete.
pub fn next_response(said: &mut &[u8]) -> Option<Made> {
    let (head, rest) = said.split_first_chunk::<RESPONSE_BYTES>()?;
    let [status, length @ ..] = *head;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
    *said = rest;
    if status == 0 {
        return Some(Ok(text.to_vec()));
    }
    let why = String::from_utf8_lossy(text);
    Some(Err(Complaints::own(0, text::one_line(&why)).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_responses_are_taken() {
        let said = b"\0\x02\0\0\0ab\x01\x05\0\0\0a\n b \0\0\0\0\0\0\x09";
        let mut rest = said.as_slice();
        assert_eq!(next_response(&mut rest), Some(Ok(b"ab".to_vec())));
        let why = next_response(&mut rest).unwrap().unwrap_err();
        assert_eq!(why.to_string(), "a b");
        assert_eq!(next_response(&mut rest), Some(Ok(Vec::new())));
        assert_eq!(next_response(&mut rest), None);
        assert_eq!(rest, b"\0\x09");
    }

    #[test]
    fn an_order_is_a_letter_two_numbers_and_a_text() {
        let order = order(b't', 1, 2, b"<a/>").unwrap();
        let expected = b"t\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x04\0\0\0<a/>";
        assert_eq!(order, expected);
    }
}
