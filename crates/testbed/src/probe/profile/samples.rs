//! Passes on the samples that perf prints, except an incomplete last one if perf was killed.

use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(super) struct Reading {
    /// True if perf was killed.
    pub(super) is_cut: AtomicBool,
    /// The number of samples read so far. A last sample without an empty line after it is not
    /// counted.
    pub(super) samples: AtomicU64,
}

/// The text of samples, separated by empty lines. If perf was killed, the incomplete last sample is
/// dropped, because a partial stack would look like another stack.
pub(super) struct Samples<'a, R> {
    inner: R,
    reading: &'a Reading,
    sample: Vec<u8>,
    /// The number of bytes of the current sample that were passed on.
    passed: usize,
}

impl<'a, R: BufRead> Samples<'a, R> {
    pub(super) fn of(inner: R, reading: &'a Reading) -> Self {
        Self {
            inner,
            reading,
            sample: Vec::new(),
            passed: 0,
        }
    }

    /// Reads the next sample, which is empty at the end.
    fn read_sample(&mut self) -> io::Result<()> {
        self.sample.clear();
        self.passed = 0;
        loop {
            let begin = self.sample.len();
            if self.inner.read_until(b'\n', &mut self.sample)? == 0 {
                if self.reading.is_cut.load(Ordering::Acquire) {
                    self.sample.clear();
                }
                return Ok(());
            }
            if self.sample[begin..].iter().all(u8::is_ascii_whitespace) {
                self.reading.samples.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Read for Samples<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.passed == self.sample.len() {
            self.read_sample()?;
        }
        let mut left = &self.sample[self.passed..];
        let count = left.read(into)?;
        self.passed += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str =
        "gw 1 2.3: 7 cpu-clock:\n\t1 f (a)\n\t2 g (a)\n\ngw 1 2.4: 7 cpu-clock:\n\t1 f (a)\n";

    fn passed_on(is_cut: bool) -> String {
        let reading = Reading {
            is_cut: AtomicBool::new(is_cut),
            ..Reading::default()
        };
        // The buffer is small enough to split samples.
        let inner = io::BufReader::with_capacity(5, TWO.as_bytes());
        let mut text = String::new();
        Samples::of(inner, &reading)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(
            reading.samples.into_inner(),
            1,
            "only the first sample ends with an empty line"
        );
        text
    }

    #[test]
    fn an_incomplete_sample_is_not_passed_on() {
        assert_eq!(passed_on(false), TWO);
        assert_eq!(passed_on(true), TWO[..TWO.rfind("gw").unwrap()]);
    }
}
