//! The machine's load average.

use std::fs;

/// The load average: the exponentially damped number of threads that were running, runnable or
/// waiting for a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadAverage {
    /// Over the last minute, not divided by the number of cores.
    pub last_minute: f64,
}

impl LoadAverage {
    /// Reads the load average; none if there is no /proc.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/loadavg").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let last_minute = text.split_whitespace().next()?.parse().ok()?;
        Some(Self { last_minute })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_for_the_last_minute() {
        let found = LoadAverage::parse("0.42 1.50 2.00 3/417 12345\n");
        assert_eq!(found, Some(LoadAverage { last_minute: 0.42 }));
        assert_eq!(LoadAverage::parse(""), None);
        assert!(LoadAverage::read().is_some_and(|it| it.last_minute >= 0.0));
    }
}
