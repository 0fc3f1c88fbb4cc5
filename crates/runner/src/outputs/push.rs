//! Sends the facts of a run on disk, body by body.

use std::time::{Duration, Instant};

use gatebench_outputs::{Encoder, Fact};

use super::client::{Client, TIMEOUT};
use super::refusal::{Refusal, Then};
use super::target::Target;

/// The size before compression at which a body is sent.
const BODY_BYTES: usize = 1 << 20;
const ATTEMPTS_MAX: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);

/// Sends facts to a target. Unlike the outputs of a run in progress, a push blocks the caller, and
/// stops at the first body that is not accepted.
pub struct Push {
    client: Client,
    encoder: Encoder,
    body: Vec<u8>,
    sent: u64,
    refusal: Option<Refusal>,
}

impl Push {
    /// Probes the target, and returns a push to it.
    ///
    /// # Errors
    /// The target refuses the probe, or does not respond.
    pub fn begin(target: &Target) -> Result<Self, Refusal> {
        // The probe of a file must not remove what the file already contains.
        let mut client = Client::new(target.clone(), true);
        let until = Instant::now() + TIMEOUT;
        client.probe(&|| until)?;
        Ok(Self {
            client,
            encoder: target.encoder(),
            body: Vec::new(),
            sent: 0,
            refusal: None,
        })
    }

    pub fn take(&mut self, fact: &Fact) {
        self.body.extend(self.encoder.encode(fact));
        if self.body.len() >= BODY_BYTES {
            self.send();
        }
    }

    /// Sends the remaining facts, and returns the total number of bytes sent, before compression.
    ///
    /// # Errors
    /// A body was not accepted. The error is the refusal of the last attempt to send it.
    pub fn end(mut self) -> Result<u64, Refusal> {
        self.send();
        self.refusal.map_or(Ok(self.sent), Err)
    }

    fn send(&mut self) {
        let body = std::mem::take(&mut self.body);
        if body.is_empty() || self.refusal.is_some() {
            return;
        }
        for attempt in 1.. {
            let until = Instant::now() + TIMEOUT;
            let Err(refusal) = self.client.deliver(body.clone(), &|| until) else {
                self.sent += body.len() as u64;
                return;
            };
            let pause = match refusal.then {
                Then::Again | Then::Retry(None) => Some(PAUSE),
                Then::Retry(Some(pause)) => Some(pause),
                Then::Smaller | Then::Drop => None,
            };
            match pause.filter(|_| attempt < ATTEMPTS_MAX) {
                Some(pause) => std::thread::sleep(pause),
                None => {
                    self.refusal = Some(refusal);
                    return;
                }
            }
        }
    }
}
