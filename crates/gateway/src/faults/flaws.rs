//! Known flaws: a gateway that leaks memory, or shows the error of one request in the answer to another, so
//! that what looks for such gateways can be tried on one.

use std::str::FromStr;

use super::injector::Faults;

/// A leak of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Bytes of each piece.
    pub bytes: usize,
    /// Answers of a worker for each piece; at least 1.
    pub answers: u64,
}

impl FromStr for Leak {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let parsed = word.split_once('/').and_then(|(bytes, answers)| {
            let (number, unit) = match bytes.strip_suffix("KiB") {
                Some(number) => (number, 1024),
                None => (bytes.strip_suffix('B')?, 1),
            };
            let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
            let answers = answers.parse().ok().filter(|count| *count > 0)?;
            Some(Self { bytes, answers })
        });
        parsed.ok_or_else(|| "this is no leak: write bytes and answers, as in 1KiB/1000".into())
    }
}

/// The flaws of one worker.
#[derive(Debug, Default)]
pub(crate) struct Flawed {
    faults: Faults,
    answers: u64,
    /// Errors that the next requests are answered with, parts of one included.
    owed: f64,
}

impl Flawed {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    /// An answer was given.
    pub(crate) fn answered(&mut self, status: u16) {
        if let Some(leak) = self.faults.leak {
            self.answers += 1;
            if self.answers.is_multiple_of(leak.answers.max(1)) {
                // Written to, so that it is resident.
                Box::leak(vec![1_u8; leak.bytes].into_boxed_slice());
            }
        }
        if let Some(share) = self.faults.stray_errors
            && status >= 400
        {
            self.owed += share;
        }
    }

    /// Whether the request that has just come is answered with another's error. It is not one more to be
    /// shown, or there would be no end to it.
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
    fn a_share_of_the_errors_is_shown_once_more() {
        let mut flawed = Flawed::new(Faults {
            stray_errors: Some(0.25),
            ..Faults::default()
        });
        let mut shown = 0;
        for _ in 0..400 {
            // One good request and one bad one in turn; what strays is answered with an error too.
            for status in [200, 500] {
                let strays = flawed.strays();
                shown += u32::from(strays);
                flawed.answered(if strays { 500 } else { status });
            }
        }
        assert!((99..=134).contains(&shown), "{shown}");
        let mut sound = Flawed::default();
        sound.answered(500);
        assert!(!sound.strays());
    }

    #[test]
    fn a_leak_is_bytes_and_answers() {
        let leak = |word: &str| word.parse::<Leak>().ok().map(|it| (it.bytes, it.answers));
        assert_eq!(leak("1KiB/1000"), Some((1024, 1000)));
        assert_eq!(leak("7B/1"), Some((7, 1)));
        for wrong in ["", "1KiB", "1/1", "1KiB/0", "-1B/1", "1MiB/1"] {
            assert_eq!(leak(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn without_errors_nothing_strays() {
        let mut flawed = Flawed::new(Faults {
            stray_errors: Some(1.0),
            ..Faults::default()
        });
        (0..100).for_each(|_| flawed.answered(200));
        assert!(!flawed.strays());
    }
}
