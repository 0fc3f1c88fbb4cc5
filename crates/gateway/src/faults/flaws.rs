//! Known flaws of a gateway that leaks memory, or that sends the error of one request in the
//! response to another one. They test the checks that look for such gateways.

use std::str::FromStr;

use super::injector::Faults;

/// A leak of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The size of each leaked piece in bytes.
    pub bytes: usize,
    /// The number of a worker's responses per leaked piece; at least 1.
    pub responses: u64,
}

/// A word that is not a [`Leak`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a leak: write bytes and responses, as in 1KiB/1000")]
pub struct NotLeak;

impl FromStr for Leak {
    type Err = NotLeak;

    fn from_str(word: &str) -> Result<Self, NotLeak> {
        let parsed = word.split_once('/').and_then(|(bytes, responses)| {
            let (number, unit) = match bytes.strip_suffix("KiB") {
                Some(number) => (number, 1024),
                None => (bytes.strip_suffix('B')?, 1),
            };
            let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
            let responses = responses.parse().ok().filter(|count| *count > 0)?;
            Some(Self { bytes, responses })
        });
        parsed.ok_or(NotLeak)
    }
}

/// The flaws of one worker.
#[derive(Debug, Default)]
pub(crate) struct Flawed {
    faults: Faults,
    responses: u64,
    /// The number of errors still owed to later requests, including fractions.
    owed: f64,
}

impl Flawed {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    /// Counts a response.
    pub(crate) fn responded(&mut self, status: u16) {
        if let Some(leak) = self.faults.leak {
            self.responses += 1;
            if self.responses.is_multiple_of(leak.responses.max(1)) {
                // Initialised with ones, so that it becomes resident.
                Box::leak(vec![1_u8; leak.bytes].into_boxed_slice());
            }
        }
        if let Some(share) = self.faults.stray_errors
            && status >= 400
        {
            self.owed += share;
        }
    }

    /// Reports whether the request that has just arrived gets the error of another one. Such an
    /// error is not repeated itself, because the errors would never end.
    pub(crate) fn strays(&mut self) -> bool {
        let is_owed = self.owed >= 1.0;
        if is_owed {
            self.owed -= 1.0 + self.faults.stray_errors.unwrap_or(0.0);
        }
        is_owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_errors_is_repeated() {
        let mut flawed = Flawed::new(Faults {
            stray_errors: Some(0.25),
            ..Faults::default()
        });
        let mut shown = 0;
        for _ in 0..400 {
            // One good request and one failing request in turn; a stray response is an error too.
            for status in [200, 500] {
                let strays = flawed.strays();
                shown += u32::from(strays);
                flawed.responded(if strays { 500 } else { status });
            }
        }
        assert!((99..=134).contains(&shown), "{shown}");
        let mut sound = Flawed::default();
        sound.responded(500);
        assert!(!sound.strays());
    }

    #[test]
    fn without_errors_nothing_strays() {
        let mut flawed = Flawed::new(Faults {
            stray_errors: Some(1.0),
            ..Faults::default()
        });
        (0..100).for_each(|_| flawed.responded(200));
        assert!(!flawed.strays());
    }
}
