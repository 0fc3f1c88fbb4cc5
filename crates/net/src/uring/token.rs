//! The user data of a completion: 64 bits that name the operation.

use crate::ConnId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Accept,
    Connect,
    Receive,
    Send,
    Cancel,
}

/// Operation in the top 8 bits, generation in the next 24, slot (or listener) in the lower 32.
pub(super) fn token(operation: Operation, conn: ConnId) -> u64 {
    (operation as u64) << 56 | u64::from(conn.generation) << 32 | u64::from(conn.slot)
}

/// The inverse of [`token`]. For an accept, the slot is the listener's number.
pub(super) fn parse(token: u64) -> (Operation, ConnId) {
    let operation = match token >> 56 {
        0 => Operation::Accept,
        1 => Operation::Connect,
        2 => Operation::Receive,
        3 => Operation::Send,
        _ => Operation::Cancel,
    };
    let generation = (token >> 32) as u32 & crate::slots::GENERATION_MASK;
    (operation, ConnId::new(token as u32, generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_read_back() {
        for operation in [
            Operation::Accept,
            Operation::Connect,
            Operation::Receive,
            Operation::Send,
            Operation::Cancel,
        ] {
            for conn in [
                ConnId::new(u32::MAX, crate::slots::GENERATION_MASK),
                ConnId::new(7, 0),
            ] {
                assert_eq!(parse(token(operation, conn)), (operation, conn));
            }
        }
    }
}
