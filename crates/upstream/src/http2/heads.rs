//! Encoded response heads, which are reused.

use gatebench_net::http1::BodyLength;
use gatebench_net::http2::{Block, Variable};
use gatebench_net::trace::{TIMES_BYTES, TIMES_HEADER, Times};

use crate::response::{HeadOptions, NO_TIMES};

/// The maximum number of heads that a connection keeps. If the lengths of bodies keep varying, the
/// oldest heads are replaced.
const HEADS_MAX: usize = 8;

/// The heads that were encoded most recently on a connection.
#[derive(Default)]
pub(crate) struct Heads {
    known: Vec<Known>,
    /// The index of the head that is replaced next.
    next: usize,
}

struct Known {
    options: HeadOptions<'static>,
    /// The content type, which is separate because `options` could only borrow it.
    content_type: Vec<u8>,
    block: Block,
    times: Option<Variable>,
}

impl Heads {
    /// Returns the encoded block of a head. It contains `times` if the head has room for them.
    pub(super) fn block(&mut self, head: &HeadOptions<'_>, times: Option<Times>) -> &Block {
        let at = self.known.iter().position(|known| known.is(head));
        let at = at.unwrap_or_else(|| self.learn(head));
        let known = &mut self.known[at];
        if let (Some(variable), Some(times)) = (&known.times, times) {
            let mut text = [0; TIMES_BYTES];
            times.write(&mut text);
            known.block.set(variable, &text);
        }
        &known.block
    }

    fn learn(&mut self, head: &HeadOptions<'_>) -> usize {
        let at = self.next % HEADS_MAX;
        self.next = at + 1;
        let known = Known::new(head);
        match self.known.get_mut(at) {
            Some(oldest) => *oldest = known,
            None => self.known.push(known),
        }
        at
    }
}

impl Known {
    fn new(head: &HeadOptions<'_>) -> Self {
        let mut block = Block::response(head.status);
        let times = head.times.then(|| block.variable(TIMES_HEADER, NO_TIMES));
        if !head.content_type.is_empty() {
            block.field("content-type", head.content_type);
        }
        if let BodyLength::Length(length) = head.body_length() {
            block.field("content-length", length.to_string().as_bytes());
        }
        if let Some(allow) = head.allow {
            block.field("allow", allow.as_bytes());
        }
        if let Some(encoding) = head.encoding {
            block.field("content-encoding", encoding.as_bytes());
        }
        if let Some(region) = head.region {
            block.field("x-soap-region", region.as_bytes());
        }
        Self {
            options: HeadOptions {
                content_type: b"",
                ..*head
            },
            content_type: head.content_type.to_vec(),
            block,
            times,
        }
    }

    fn is(&self, head: &HeadOptions<'_>) -> bool {
        let rest = HeadOptions {
            content_type: b"",
            ..*head
        };
        self.options == rest && self.content_type == head.content_type
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{Body, Response, TEXT};
    use gatebench_net::trace::Nonce;

    fn head(length: u64, times: bool) -> HeadOptions<'static> {
        HeadOptions {
            length: Some(length),
            times,
            ..HeadOptions::of(&Response::ok(TEXT, Body::Static(b"")))
        }
    }

    #[test]
    fn a_head_is_encoded_once_and_the_oldest_is_forgotten() {
        let mut heads = Heads::default();
        let first = heads.block(&head(0, false), None).bytes().to_vec();
        for length in 0..20 {
            heads.block(&head(length, false), None);
            heads.block(&head(length, false), None);
        }
        assert_eq!(heads.known.len(), HEADS_MAX);
        assert_eq!(heads.block(&head(0, false), None).bytes(), first);
        let echoed = HeadOptions {
            content_type: b"a/b",
            ..head(0, false)
        };
        assert_ne!(heads.block(&echoed, None).bytes(), first);
    }

    #[test]
    fn times_change_in_place() {
        let mut heads = Heads::default();
        let times = Times {
            nonce: Nonce::new(1, 2, 3),
            received_ns: 4,
            service_ns: 5,
        };
        let mut text = [0; TIMES_BYTES];
        times.write(&mut text);
        let bytes = heads.block(&head(2, true), Some(times)).bytes().to_vec();
        assert!(bytes.windows(TIMES_BYTES).any(|window| window == text));
        let other = Times {
            service_ns: 6,
            ..times
        };
        assert_ne!(heads.block(&head(2, true), Some(other)).bytes(), bytes);
        assert_eq!(heads.known.len(), 1);
    }
}
