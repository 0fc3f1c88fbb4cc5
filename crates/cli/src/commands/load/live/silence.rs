//! Finds the periods of the measured window in which no response arrived.

use super::LOOK_EVERY;

/// The minimum length of a silence: one second, minus one interval between readings, because the
/// silence may have begun up to one interval before its first reading.
const LEAST_NS: u64 = 1_000_000_000 - LOOK_EVERY.as_nanos() as u64;

/// A period in which no response arrived, between two readings of the response count. Times are in
/// nanoseconds since the beginning of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The time of the first reading.
    pub from_ns: u64,
    /// The time of the last reading.
    pub to_ns: u64,
}

impl Silence {
    /// The time between the first and the last reading, in nanoseconds. The silence lasted at least
    /// this long.
    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// Finds silences in repeated readings of the response count.
#[derive(Debug, Default)]
pub struct Silences {
    /// The period since the count last changed, and the count.
    same: Option<(Silence, u64)>,
    found: Vec<Silence>,
}

impl Silences {
    pub fn look(&mut self, at_ns: u64, completed: u64) {
        match &mut self.same {
            Some((silence, known)) if *known == completed => silence.to_ns = at_ns,
            _ => {
                self.close();
                let begun = Silence {
                    from_ns: at_ns,
                    to_ns: at_ns,
                };
                self.same = Some((begun, completed));
            }
        }
    }

    pub fn end(mut self) -> Vec<Silence> {
        self.close();
        self.found
    }

    fn close(&mut self) {
        let ended = self.same.take().map(|(silence, _)| silence);
        self.found
            .extend(ended.filter(|silence| silence.length_ns() >= LEAST_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_a_second_without_a_response() {
        let mut silences = Silences::default();
        let counts = [1, 2, 2, 2, 2, 2, 3, 4, 4, 4, 5, 5, 5, 5, 5, 5];
        for (look, completed) in (0..).zip(counts) {
            silences.look(look * 250_000_000, completed);
        }
        let silence = |from: u64, to: u64| Silence {
            from_ns: from * 250_000_000,
            to_ns: to * 250_000_000,
        };
        assert_eq!(silences.end(), [silence(1, 5), silence(10, 15)]);
        assert_eq!(Silences::default().end(), []);
    }
}
