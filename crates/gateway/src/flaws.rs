//! Known flaws: a gateway that leaks memory, or shows the error of one request in the answer to another, so
//! that what looks for such gateways can be tried on one.

/// Flaws that were asked for; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flaws {
    /// Memory that is never given back.
    pub leak: Option<Leak>,
    /// The share of errors, 0.01 being 1 %, each of which the next request of its worker is answered with as well.
    pub stray_errors: Option<f64>,
}

/// A leak of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Bytes of each piece.
    pub bytes: usize,
    /// Answers of a worker for each piece; at least 1.
    pub answers: u64,
}

/// The flaws of one worker.
#[derive(Debug, Default)]
pub(crate) struct Flawed {
    flaws: Flaws,
    answers: u64,
    /// Errors that the next requests are answered with, parts of one included.
    owed: f64,
}

impl Flawed {
    pub(crate) fn new(flaws: Flaws) -> Self {
        Self {
            flaws,
            ..Self::default()
        }
    }

    /// An answer was given.
    pub(crate) fn answered(&mut self, status: u16) {
        if let Some(leak) = self.flaws.leak {
            self.answers += 1;
            if self.answers.is_multiple_of(leak.answers.max(1)) {
                // Written to, so that it is resident.
                Box::leak(vec![1_u8; leak.bytes].into_boxed_slice());
            }
        }
        if let Some(share) = self.flaws.stray_errors
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
            self.owed -= 1.0 + self.flaws.stray_errors.unwrap_or(0.0);
        }
        is_owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_errors_is_shown_once_more() {
        let mut flawed = Flawed::new(Flaws {
            stray_errors: Some(0.25),
            ..Flaws::default()
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
    fn without_errors_nothing_strays() {
        let mut flawed = Flawed::new(Flaws {
            stray_errors: Some(1.0),
            ..Flaws::default()
        });
        (0..100).for_each(|_| flawed.answered(200));
        assert!(!flawed.strays());
    }
}
